import { utf8 } from "../../../crypto/encoding.ts";
import type { CachedReply } from "../../wire/cached-reply.ts";

/** An answer with the end of its time, Unix ms. */
export interface TimedReply {
  readonly reply: CachedReply;
  readonly expiresAt: number;
}

/** Chunks that a stored stream keeps apart; a stream of more is replayed as one. */
const CHUNKS = 2000;

/** The head of a packed answer, as JSON behind four bytes of its length. */
type Head = Pick<CachedReply, "status" | "headers" | "streamed"> & {
  /** Lengths of the chunks; null when they are one. */
  readonly lengths: readonly number[] | null;
};

/** Bytes of an answer and its headers. */
export function replySize({ headers, chunks }: CachedReply): number {
  const head = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return chunks.reduce((sum, chunk) => sum + chunk.length, head);
}

export function packedReply({
  status,
  headers,
  chunks,
  streamed,
}: CachedReply): Uint8Array<ArrayBuffer> {
  const lengths = chunks.length > CHUNKS ? null : chunks.map((chunk) => chunk.length);
  const head = utf8(JSON.stringify({ status, headers, streamed, lengths } satisfies Head));
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

/** Undoes {@link packedReply}; what was sealed with the right key was packed by it. */
export function unpackedReply(bytes: Uint8Array<ArrayBuffer>): CachedReply {
  const start = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const text = new TextDecoder().decode(bytes.subarray(4, start));
  const { status, headers, streamed, lengths } = JSON.parse(text) as Head;
  let at = start;
  const chunks = (lengths ?? [bytes.length - start]).map((length) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
  return { status, headers, streamed, chunks };
}
