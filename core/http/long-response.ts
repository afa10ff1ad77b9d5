import { noteResponse } from "./response-note.ts";
import { pulledStream } from "./stream.ts";

/** Bytes that a response may copy at once: some milliseconds of work, as it copies what it is given (Fetch, "extract a body"). */
const AT_ONCE = 4 * 1024 * 1024;

/** Bytes that a longer one hands out at a time. */
const PART = 1024 * 1024;

/** Makes a successful response of text, or of bytes that may be many: those go out in parts, and others go on in between. */
export function longResponse(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Headers | Readonly<Record<string, string>>,
): Response {
  if (typeof body === "string" || body.length <= AT_ONCE)
    return noteResponse(new Response(body, { headers }), { body });
  const own = new Headers(headers);
  own.set("content-length", String(body.length));
  return noteResponse(new Response(inParts(body), { headers: own }), { body });
}

/** Makes a stream that hands out bytes without copying them. */
export function inParts(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return pulledStream(
    () => {
      const value = bytes.subarray(at, at + PART);
      at += value.length;
      return Promise.resolve({ done: at === bytes.length, value });
    },
    () => Promise.resolve(),
  );
}
