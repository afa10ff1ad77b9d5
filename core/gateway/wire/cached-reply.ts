import type { InboundResponse } from "../../ports.ts";

/** A whole successful answer. Streamed ones keep their chunks, to be replayed as a stream. */
export interface CachedReply extends ReplyHead {
  readonly chunks: readonly Uint8Array[];
  readonly streamed: boolean;
}

export type ReplyHead = Pick<InboundResponse, "status" | "headers">;

/** Returns the text of the last bytes, at least as many as asked for where there are. */
export function lastText(chunks: readonly Uint8Array[], last: number): string {
  let [from, size] = [chunks.length, 0];
  while (from > 0 && size < last) size += chunks[--from]?.length ?? 0;
  const decoder = new TextDecoder();
  const pieces = chunks.slice(from).map((chunk) => decoder.decode(chunk, { stream: true }));
  return pieces.join("");
}
