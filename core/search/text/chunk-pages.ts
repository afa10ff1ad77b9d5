import type { FilePage } from "../read/file-reader.ts";
import type { TextChunk } from "./split.ts";

/** Chunks of a text in their order, each with the pages that it is from; without pages they stay as they are. */
export function withPages(
  chunks: readonly TextChunk[],
  pages: readonly FilePage[],
): readonly TextChunk[] {
  if (pages.length === 0) return chunks;
  let first = 0;
  return chunks.map((chunk) => {
    while (startOf(pages, first + 1) <= chunk.startByte) first++;
    let last = first;
    while (startOf(pages, last + 1) < chunk.endByte) last++;
    return { ...chunk, pages: { first: numberOf(pages, first), last: numberOf(pages, last) } };
  });
}

function startOf(pages: readonly FilePage[], index: number): number {
  return pages[index]?.startByte ?? Infinity;
}

function numberOf(pages: readonly FilePage[], index: number): number {
  return pages[index]?.number ?? 0;
}
