import { ApiError } from "../../http/api-error.ts";
import { readOrPass } from "../../http/stream.ts";
import type { BodyHold } from "../../work/body-budget.ts";
import type { HeaderPair } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import { headerValue } from "./header-hygiene.ts";
import { bodiesFull } from "../../http/arriving-body.ts";

/** Bytes of a body that are collected; a longer one cannot be checked. */
const BODY_LIMIT = 25 * 1024 * 1024;

/** Sound, images and the like have no text to check. */
export function isText(type: string): boolean {
  return !/^(?:audio|image|video|font)\/|^application\/(?:octet-stream|pdf|zip)\b/i.test(type);
}

/** Whether a type is said to be text, events or JSON: such bytes can be decoded, changed and written again. */
export function isJsonOrText(type: string): boolean {
  return /^(?:text\/|application\/(?:x-nd|[\w.-]+\+)?json\b)/i.test(type);
}

/** Returns the content encoding that a body's headers name; empty without one. */
export function encodingOf(headers: readonly HeaderPair[]): string {
  const encoding = (headerValue(headers, "content-encoding") ?? "").trim().toLowerCase();
  return encoding === "identity" ? "" : encoding.slice(0, 32);
}

/** Returns the bytes of a body without its content encoding; null when that is not known here, or a lie. */
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
 * Reads all bytes of a body; when they are too many, a stream of the same bytes. Throws `bodies_full` when `held` has no
 * room for them.
 */
export async function collected(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  held?: BodyHold,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  if (body === null) return new Uint8Array(0);
  if (body instanceof Uint8Array) return body;
  try {
    return await readOrPass(body, BODY_LIMIT, (size) => {
      if (held?.take(size) === false) throw bodiesFull();
    });
  } catch (cause) {
    if (cause instanceof TransportError || cause instanceof ApiError) throw cause;
    throw new TransportError("broken", "The provider broke off its answer", { cause });
  }
}
