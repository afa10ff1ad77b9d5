import { ApiError } from "../../http/api-error.ts";
import type { InstanceSettings } from "../instance/instance-settings.ts";
import type { SearchOptions } from "../search-deps.ts";
import { splitText } from "../text/split.ts";
import type { ExtractedText } from "./extract-text.ts";

/** Chunks of one item. */
const MAX_CHUNKS = 20_000;

/** The chunks of a text under the settings of an instance. Throws when there are too many. */
export function chunksOf(
  { text, format }: ExtractedText,
  settings: InstanceSettings,
  { countTokens }: Pick<SearchOptions, "countTokens">,
): ReturnType<typeof splitText> {
  const chunks = splitText(text, {
    size: settings.chunk ? settings.chunk_size : Number.MAX_SAFE_INTEGER,
    overlapPercent: settings.chunk ? settings.chunk_overlap : 0,
    format: settings.chunk ? format : "text",
    ...(countTokens === undefined ? {} : { countTokens }),
  });
  if (chunks.length > MAX_CHUNKS) {
    throw new ApiError("file_too_large", {
      message: `The file makes ${chunks.length} chunks, at most ${MAX_CHUNKS} are indexed: raise chunk_size`,
    });
  }
  return chunks;
}
