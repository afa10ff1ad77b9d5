import * as v from "valibot";
import { envelope } from "../../http/envelope.ts";
import type { RenderingOptions } from "../job/options.ts";
import { fairSlots } from "../../work/fair-slots.ts";
import type { UploadedFiles } from "../job/uploaded-files.ts";
import type { OwnedWork } from "../../work/owned-work.ts";
import { tooManyRenderings } from "../input/errors.ts";
import { askJson, checkJsonRequest, type JsonDeps } from "../json/ask-json.ts";
import { checkWanted, type JsonBody } from "../json/json-body.ts";

/** Requests to models at a time. */
const ASKING = 16;

const rendered = v.object({
  result: v.string(),
  meta: v.record(v.string(), v.unknown()),
});

/** The steps of an operation before and after the rendering. */
export interface AroundRendering<B> {
  /** Checks what a schema cannot, before anything is loaded. */
  readonly before: (body: B, work: OwnedWork, signal: AbortSignal) => Promise<void>;
  /** Makes the answer of that of the rendering, whose place another one may have by then. */
  readonly after: (
    rendered: Response,
    body: B,
    work: OwnedWork & { readonly upload?: UploadedFiles | undefined },
    signal: AbortSignal,
  ) => Promise<Response>;
}

/** Makes the two steps of `/json`: one before a page is loaded, and one that answers from the page's Markdown. */
export function jsonAnswerOf(options: RenderingOptions): AroundRendering<JsonBody> {
  const deps = jsonDeps(options);
  return {
    before: (body, work, signal) => {
      checkWanted(body);
      return checkJsonRequest({ ...deps, ...work }, body, signal);
    },
    async after(page, body, work, signal) {
      const { result, meta } = v.parse(rendered, await page.json());
      const { value, isCut } = await askJson({ ...deps, ...work }, result, body, signal);
      return envelope(value, { meta: { ...meta, ...(isCut ? { truncated: true } : {}) } });
    },
  };
}

/** Takes from the operator's options what asking a model needs. */
export function jsonDeps(options: RenderingOptions): JsonDeps {
  const { system } = options.platform;
  return {
    model: options.chatModel,
    modelOf: options.customModel,
    system,
    modelMs: options.chatTimeoutMs ?? 60_000,
    slots: fairSlots({
      running: ASKING,
      waiting: options.maxQueue ?? 20,
      refuse: tooManyRenderings,
    }),
  };
}
