import { ApiError } from "../../http/api-error.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { LongTask } from "../../ports.ts";
import type { WorkOptions } from "../models/search-deps.ts";
import { type SplitOptions, splitText, type TextChunk } from "../text/split.ts";
import type { ExtractedText } from "./extract-text.ts";
import type { FilePage } from "../read/file-reader.ts";

const never = new AbortController().signal;

/** Chunks of one item. */
const MAX_CHUNKS = 20_000;

/** Characters that are split at once: a thread would take longer to be asked. */
const AT_ONCE = 32_768;

/** Splits a text on a thread where the runtime has threads: 4 MB take half a second. */
export const splitLongText: LongTask<
  Omit<SplitOptions, "countTokens"> & { text: string },
  TextChunk[]
> = {
  name: "search/split-text",
  load: () =>
    Promise.resolve(function* ({ text, ...options }) {
      yield;
      return splitText(text, options);
    }),
};

/** Returns the chunks of a text under the settings of an instance. Throws when there are too many. */
export async function chunksOf(
  { text, format, pages = [] }: ExtractedText,
  settings: InstanceSettings,
  { countTokens, owner, platform: { background, system } }: WorkOptions,
): Promise<readonly TextChunk[]> {
  const options = {
    size: settings.chunk ? settings.chunk_size : Number.MAX_SAFE_INTEGER,
    overlapPercent: settings.chunk ? settings.chunk_overlap : 0,
    format: settings.chunk ? format : "text",
  } as const;
  // A function crosses to no thread.
  const isInline = countTokens !== undefined || text.length <= AT_ONCE;
  const chunks = isInline
    ? splitText(text, { ...options, ...(countTokens === undefined ? {} : { countTokens }) })
    : await background.run(splitLongText, { text, ...options }, system.closing ?? never, owner);
  if (chunks.length > MAX_CHUNKS) {
    throw new ApiError("file_too_large", {
      message: `The file makes ${chunks.length} chunks, at most ${MAX_CHUNKS} are indexed: raise chunk_size`,
    });
  }
  return withPages(chunks, pages);
}

/**
 * Returns the chunks of a text in their order, each with the pages that it is from; without pages they stay as they are.
 */
function withPages(chunks: readonly TextChunk[], pages: readonly FilePage[]): readonly TextChunk[] {
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
