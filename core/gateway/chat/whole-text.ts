import { readUpTo } from "../../http/stream.ts";
import { TransportError } from "../../transport-error.ts";

/** Bytes of an answer that is translated, whole or as a stream: what it has told is kept for its end. */
export const ANSWER_LIMIT: number = 32 * 1024 * 1024;

/** A body as text; throws `TransportError` beyond 32 MiB, and for one that cannot be read or decoded to its end. */
export async function wholeText(body: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  const bytes = body instanceof Uint8Array ? body : await read(body);
  if (bytes !== null) return new TextDecoder().decode(bytes);
  throw new TransportError("broken", "The provider's answer is too long to translate");
}

async function read(body: ReadableStream<Uint8Array>): Promise<Uint8Array | null> {
  try {
    return await readUpTo(body, ANSWER_LIMIT);
  } catch (cause) {
    if (cause instanceof TransportError) throw cause;
    throw new TransportError("broken", "The provider broke off its answer", { cause });
  }
}
