import { decodeText } from "./decode-text.ts";
import { xhtmlAsHtml } from "./xhtml-as-html.ts";

/** Decodes a document as a browser does. XHTML becomes HTML. */
export function* decodePage(bytes: Uint8Array, contentType: string): Generator<void, string, void> {
  const text = yield* decodeText(bytes, contentType);
  if (!/^\s*application\/xhtml\+xml\b/iu.test(contentType)) return text;
  yield;
  return yield* xhtmlAsHtml(text);
}
