import { utf8 } from "../crypto/encoding.ts";
import { ApiError } from "../http/api-error.ts";
import { parseJson } from "../http/fields/body.ts";
import { isObject } from "../http/json.ts";
import type { Background, LongTask } from "../ports.ts";

/** A request as it came. */
type SentBody = { readonly bytes: Uint8Array<ArrayBuffer> };

/** The same with its page taken out. */
export type SplitBody = {
  /** The request as JSON; where the page is taken out, a word stands in its place. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The `html` in UTF-8; null for a request without one. */
  readonly html: Uint8Array<ArrayBuffer> | null;
};

/** Bytes of a request that are parsed sooner than handed to a thread. */
const PARSED_AT_ONCE = 1024 * 1024;

/** Bytes of all fields but the page: they are parsed on the event loop, and go to the browser as one message. */
const BESIDE_PAGE = 4 * 1024 * 1024;

/** Parses a long request beside the event loop: of 45 MB, that takes a third of a second. Throws as `parseJson` does. */
export const splitBody: LongTask<SentBody, SplitBody> = {
  name: "rendering/split-body",
  load: () =>
    Promise.resolve(function* ({ bytes }) {
      const value = parseJson(bytes);
      const html = isObject(value) ? value["html"] : undefined;
      if (typeof html !== "string" || html === "") {
        checkLength(bytes);
        return { bytes, html: null };
      }
      yield;
      const rest = utf8(JSON.stringify({ ...Object(value), html: "page" }));
      checkLength(rest);
      yield;
      return { bytes: rest, html: utf8(html) };
    }),
};

function checkLength({ length }: Uint8Array): void {
  if (length <= BESIDE_PAGE) return;
  const message = `All fields but html have at most ${BESIDE_PAGE} bytes, got ${length}: send long scripts and style sheets as files of an upload, or by their url`;
  throw new ApiError("too_large", { message });
}

/** A request with its page taken out where it is long, without holding up others. */
export async function splitLong(
  bytes: Uint8Array<ArrayBuffer>,
  background: Background,
  signal: AbortSignal,
): Promise<SplitBody> {
  if (bytes.length <= PARSED_AT_ONCE) return { bytes, html: null };
  return background.run(splitBody, { bytes }, signal);
}
