import { utf8 } from "../../../crypto/encoding.ts";
import type { CachedReply } from "../../wire/cached-reply.ts";

/** A packed answer with the end of its time, Unix ms. */
export interface TimedReply {
  readonly packed: Uint8Array<ArrayBuffer>;
  readonly expiresAt: number;
}

/** The head of a packed answer, as JSON behind four bytes of its length. */
type Head = Pick<CachedReply, "status" | "headers" | "streamed">;

/** Bytes of a piece of a stream: a piece for each event would cost every replay ten times as much. */
const PIECE = 64 * 1024;

/**
 * Returns an answer in one piece of memory, as caches keep it: headers that stay for long would be copied and visited by the
 * garbage collector one by one.
 */
export function packedReply({
  status,
  headers,
  chunks,
  streamed,
}: CachedReply): Uint8Array<ArrayBuffer> {
  const head = utf8(JSON.stringify({ status, headers, streamed } satisfies Head));
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 4 + head.length);
  const out = new Uint8Array(length);
  new DataView(out.buffer).setUint32(0, head.length);
  out.set(head, 4);
  let at = 4 + head.length;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

/** Undoes {@link packedReply}; a stream comes in pieces of another length. */
export function unpackedReply(bytes: Uint8Array<ArrayBuffer>): CachedReply {
  const start = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start))) as Head;
  const chunks: Uint8Array[] = [];
  const length = head.streamed ? PIECE : bytes.length;
  for (let at = start; at < bytes.length; at += length)
    chunks.push(bytes.subarray(at, at + length));
  return { ...head, chunks };
}
