import type { InboundResponse, System } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import { type ContentDecoding, decodedStream } from "../../http/body/content-decoder.ts";
import { headerValue } from "./header-hygiene.ts";

/** Cancels the body of an answer that will not be read, so that its connection is free. Never fails. */
export function dropBody({ body }: Pick<InboundResponse, "body">, system: System): void {
  if (body instanceof ReadableStream) system.waitUntil(body.cancel().catch(() => undefined));
}

/** The part of an answer that is read although no client gets it, and the time for it in ms. */
const READ_BYTES = 64 * 1024;
const READ_MS = 1000;

/**
 * Reads the beginning of an answer that another one takes the place of, so that the log has its reason and the connection can
 * be used again. It is dropped where it goes on. Never fails.
 */
export async function readOut(
  { body }: Pick<InboundResponse, "body">,
  system: System,
  onChunk: (chunk: Uint8Array) => void = () => undefined,
): Promise<void> {
  if (body instanceof Uint8Array) onChunk(body);
  if (!(body instanceof ReadableStream)) return;
  const reader = body.getReader();
  const drop = (): Promise<void> => reader.cancel().catch(() => undefined);
  const ended = new AbortController();
  system.sleep(READ_MS, ended.signal).then(drop, () => undefined);
  try {
    for (let left = READ_BYTES; left > 0;) {
      const { done, value } = await reader.read();
      if (done) return;
      onChunk(value);
      left -= value.length;
    }
    await drop();
  } catch {
    // The part that has arrived is kept.
  } finally {
    ended.abort();
  }
}

/** Statuses whose answers have no body ([null body status](https://fetch.spec.whatwg.org/#null-body-status)). */
export const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Drops a body that the status forbids: no client reads it, and its `content-length` would be wrong. */
export function withNullBodyStatus(answer: InboundResponse, system: System): InboundResponse {
  const { status, headers, body } = answer;
  if (body === null || !NULL_BODY.has(status)) return answer;
  dropBody(answer, system);
  return { status, headers: headers.filter(([name]) => name !== "content-length"), body: null };
}

/** Returns bytes that came at once, as a stream of one chunk. */
export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

/**
 * Returns a body without its content encoding: some providers send one without being asked. Throws `TransportError` for an
 * encoding that this runtime cannot undo.
 */
export function plainBody(
  { headers, body }: Pick<InboundResponse, "headers" | "body">,
  decoding: ContentDecoding,
): InboundResponse["body"] {
  const encoding = (headerValue(headers, "content-encoding") ?? "identity").trim();
  if (body === null || /^(?:identity)?$/i.test(encoding)) return body;
  const decoder = decoding.decoder(encoding);
  const source = body instanceof Uint8Array ? streamOf(body) : body;
  if (decoder !== null) return decodedStream(source, decoder);
  source.cancel().catch(() => undefined);
  throw new TransportError("broken", `The answer's encoding "${encoding.slice(0, 32)}" is unknown`);
}
