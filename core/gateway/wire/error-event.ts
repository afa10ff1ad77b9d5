import { utf8 } from "../../crypto/encoding.ts";
import type { HeaderPair } from "../../ports.ts";
import { headerValue } from "./header-hygiene.ts";

/** The error at the end of a stream that the gateway ends. */
export interface StreamError {
  readonly type: string;
  /** A word, or an HTTP status as Google's SDKs expect. */
  readonly code: string | number;
  readonly message: string;
}

/**
 * Returns the last bytes of a stream with these headers: an event that the SDKs of OpenAI, Anthropic and Google throw, or the
 * line of a stream of JSON lines. The blank line before it ends an event that came in half. Null where no bytes of ours could
 * be read.
 */
export function errorEvent(
  headers: readonly HeaderPair[],
  error: StreamError,
): Uint8Array<ArrayBuffer> | null {
  const encoding = headerValue(headers, "content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity" || headerValue(headers, "content-length") !== null)
    return null;
  const type = (headerValue(headers, "content-type") ?? "").toLowerCase();
  const data = JSON.stringify({ type: "error", error });
  if (/^text\/event-stream\b/.test(type)) return utf8(`\n\nevent: error\ndata: ${data}\n\n`);
  if (/^application\/(?:x-)?(?:nd|json-?l|json-lines)/.test(type))
    return utf8(`\n${JSON.stringify({ error: error.message })}\n`);
  return null;
}
