import { TransportError } from "../../transport-error.ts";

/** Bytes of an answer that is translated, whole or as a stream: what it has told is kept for its end. */
export const ANSWER_LIMIT: number = 32 * 1024 * 1024;

/** A body as text; throws `TransportError` beyond 32 MiB, and for one that cannot be read or decoded to its end. */
export async function wholeText(body: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) return decoder.decode(body);
  const reader = body.getReader();
  const pieces: string[] = [];
  let size = 0;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length;
      if (size > ANSWER_LIMIT)
        throw new TransportError("broken", "The provider's answer is too long to translate");
      pieces.push(decoder.decode(next.value, { stream: true }));
    }
  } catch (cause) {
    if (cause instanceof TransportError) throw cause;
    throw new TransportError("broken", "The provider broke off its answer", { cause });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
  return pieces.join("") + decoder.decode();
}
