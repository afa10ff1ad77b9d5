import { utf8 } from "../../../crypto/encoding.ts";
import type { ContentDecoding } from "../../../http/body/content-decoder.ts";
import { pulledStream } from "../../../http/stream.ts";
import type { InboundResponse } from "../../../ports.ts";
import { isJsonOrText } from "../../wire/body-bytes.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { plainBody } from "../../wire/reply-body.ts";
import { begun, type Placeholders } from "./placeholders.ts";
import { type TextPass, unmaskedEvents } from "./unmasked-events.ts";

/** Headers that describe the bytes as they came. */
const aboutBytes: ReadonlySet<string> = new Set([
  "content-encoding",
  "content-length",
  "content-md5",
  "digest",
  "etag",
]);

/** Puts the values of a request back in its answer, where the model repeats their placeholders. */
export function unmaskedAnswer(
  answer: InboundResponse,
  names: Placeholders,
  decoding: ContentDecoding,
): InboundResponse {
  const type = headerValue(answer.headers, "content-type") ?? "";
  if (answer.body === null || !isJsonOrText(type)) return answer;
  const body = plainBody(answer, decoding);
  const headers = answer.headers.filter(([name]) => !aboutBytes.has(name.toLowerCase()));
  const pass = /^text\/event-stream\b/i.test(type) ? unmaskedEvents(names) : unmaskedText(names);
  if (body instanceof Uint8Array) {
    const text = pass.push(new TextDecoder().decode(body)) + pass.end();
    return { ...answer, headers, body: utf8(text) };
  }
  return { ...answer, headers, body: body === null ? null : unmaskedStream(body, pass) };
}

/** A text other than events: only its chunks cut a placeholder in two. */
function unmaskedText(names: Placeholders): TextPass {
  let tail = "";
  return {
    push(piece) {
      const text = names.restored(tail + piece);
      [tail = ""] = begun.exec(text) ?? [];
      if (!names.isBegun(tail)) tail = "";
      return tail === "" ? text : text.slice(0, -tail.length);
    },
    end() {
      const rest = tail;
      tail = "";
      return rest;
    },
  };
}

function unmaskedStream(
  source: ReadableStream<Uint8Array>,
  pass: TextPass,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const decoder = new TextDecoder();
  let failure: { readonly error: unknown } | null = null;
  return pulledStream(
    async () => {
      if (failure !== null) throw failure.error;
      for (;;) {
        try {
          const { done, value } = await reader.read();
          const text = done
            ? pass.push(decoder.decode()) + pass.end()
            : pass.push(decoder.decode(value, { stream: true }));
          if (done) return { done: true, value: utf8(text) };
          if (text !== "") return { done: false, value: utf8(text) };
        } catch (error) {
          // What has come of a stream that breaks off still belongs to its client.
          const text = pass.end();
          if (text === "") throw error;
          failure = { error };
          return { done: false, value: utf8(text) };
        }
      }
    },
    (reason) => reader.cancel(reason),
  );
}
