import * as v from "valibot";
import { envelope } from "../../http/envelope.ts";
import type { RenderingOptions } from "../options.ts";
import { renderSlots } from "../slots.ts";
import { askJson, checkJsonRequest, type JsonDeps } from "./ask-json.ts";
import { checkWanted, type JsonBody } from "./json-body.ts";

/** Requests to models at a time. */
const ASKING = 16;

const rendered = v.object({
  result: v.string(),
  meta: v.record(v.string(), v.unknown()),
});

/** What `/json` does before a page is loaded, and what it makes of the page's Markdown. */
export function jsonAnswerOf(options: RenderingOptions): {
  readonly before: (body: JsonBody, signal: AbortSignal) => Promise<void>;
  readonly after: (page: Response, body: JsonBody, signal: AbortSignal) => Promise<Response>;
} {
  const deps = jsonDeps(options);
  return {
    before: (body, signal) => {
      checkWanted(body);
      return checkJsonRequest(deps, body, signal);
    },
    async after(page, body, signal) {
      const { result, meta } = v.parse(rendered, await page.json());
      const { value, isCut } = await askJson(deps, result, body, signal);
      return envelope(value, { meta: { ...meta, ...(isCut ? { truncated: true } : {}) } });
    },
  };
}

/** What asking a model needs, of the operator's options. */
export function jsonDeps(options: RenderingOptions): JsonDeps {
  const { background, system } = options.platform;
  return {
    model: options.chatModel,
    modelOf: options.customModel,
    background,
    system,
    modelMs: options.chatTimeoutMs ?? 60_000,
    slots: renderSlots({ running: ASKING, waiting: options.maxQueue ?? 20 }),
  };
}
