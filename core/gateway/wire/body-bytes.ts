import type { BodyHold } from "../../body-budget.ts";
import type { HeaderPair } from "../../ports.ts";
import { TransportError } from "../../transport-error.ts";
import { bytePieces } from "./byte-pieces.ts";
import type { ContentDecoding } from "./content-decoder.ts";
import { headerValue } from "./header-hygiene.ts";
import { bodiesFull } from "../../http/arriving-body.ts";

/** Bytes of a body that are collected; a longer one cannot be checked. */
const BODY_LIMIT = 25 * 1024 * 1024;

/** Sound, images and the like have no text to check. */
export function isText(type: string): boolean {
  return !/^(?:audio|image|video|font)\/|^application\/(?:octet-stream|pdf|zip)\b/i.test(type);
}

/** The content encoding that a body's headers name; empty without one. */
export function encodingOf(headers: readonly HeaderPair[]): string {
  const encoding = (headerValue(headers, "content-encoding") ?? "").trim().toLowerCase();
  return encoding === "identity" ? "" : encoding.slice(0, 32);
}

/** The bytes of a body without its content encoding; null when that is not known here, or a lie. */
export async function decoded(
  body: Uint8Array,
  encoding: string,
  decoding: ContentDecoding,
): Promise<Uint8Array | null> {
  if (encoding === "") return body;
  const decoder = decoding.decoder(encoding);
  if (decoder === null) return null;
  const source = new Response(new Uint8Array(body)).body;
  const plain = await collected(source?.pipeThrough(decoder) ?? null).catch(() => null);
  if (!(plain instanceof ReadableStream)) return plain;
  await plain.cancel().catch(() => undefined);
  return null;
}

/**
 * All bytes of a body; when they are too many, a stream of the same bytes. Throws `bodies_full` when `held` has no room
 * for them.
 */
export async function collected(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  held?: BodyHold,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if (body === null) return new Uint8Array(0);
  if (body instanceof Uint8Array) return body;
  const reader = body.getReader();
  const pieces = bytePieces();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw cause instanceof TransportError
        ? cause
        : new TransportError("broken", "The provider broke off its answer", { cause });
    });
    if (done) return pieces.whole();
    if (held?.take(value.length) === false) {
      await reader.cancel().catch(() => undefined);
      throw bodiesFull();
    }
    pieces.add(value);
    if (pieces.size > BODY_LIMIT) return again(pieces.list, reader);
  }
}

/** What was read, and then the rest. */
function again(
  chunks: Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const first = chunks.shift();
        const { done, value } =
          first === undefined ? await reader.read() : { done: false, value: first };
        if (done || value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
