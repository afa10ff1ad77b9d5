import * as v from "valibot";
import { envelope } from "../../http/envelope.ts";
import type { RenderingOptions } from "../job/options.ts";
import type { UploadedFiles } from "../job/uploaded-files.ts";
import type { OwnedWork } from "../../work/owned-work.ts";
import { askJson, checkJsonRequest } from "../json/ask-json.ts";
import { jsonDeps } from "../job/json-deps.ts";
import { checkWanted, type JsonBody } from "../json/json-body.ts";

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
