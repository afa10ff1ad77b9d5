import { isRemote } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { commitItem } from "./commit-item.ts";
import { embedChunks } from "./embed-chunks.ts";
import { extractText } from "./extract-text.ts";
import { queuePictures } from "./queue-pictures.ts";
import { usesOcr } from "./read-pictures.ts";
import { chunksOf } from "./chunks-of.ts";
import { type FileWarning, lostText } from "../read/file-warning.ts";
import { readContent } from "../rows/item-store.ts";
import type { WorkOptions } from "../models/search-deps.ts";
import { embedderOf } from "./embed-item.ts";

export interface IndexAttempt {
  readonly revision: number;
  readonly deps: WorkOptions;
  /** When it began, by the monotonic clock. */
  readonly started: number;
  /** Reads the pictures of its file, until this ends. @default the queue reads them, as work of its own */
  readonly pictures?: AbortSignal;
}

/** Returns the note of a job that an item was indexed, and what of it was not; null = its pictures are read later. */
export function indexedNote(name: string, warnings: readonly FileWarning[] | null): string {
  if (warnings === null) return `Stored ${name}: its pictures wait to be read`;
  return warnings.length === 0
    ? `Indexed ${name}`
    : `Indexed ${name} without some of it: ${lostText(warnings)}`;
}

/** Indexes an item from its stored content. Returns what of it could not be read; null when its pictures are read later. */
export async function indexContent(
  state: InstanceState,
  itemId: string,
  { revision, deps, started, pictures }: IndexAttempt,
): Promise<readonly FileWarning[] | null> {
  const { settings } = state.facts();
  const content = await readContent(state, itemId);
  const { ocr, trace } = deps;
  const text = await extractText<"later">(content, deps, () => {
    if (ocr === undefined || !usesOcr(settings)) return Promise.resolve(null);
    return Promise.resolve(pictures === undefined ? "later" : { ocr, signal: pictures });
  });
  if (text === "later") {
    await state.inTurn(() => queuePictures(state, itemId, { revision, trace }));
    return null;
  }
  const chunks = await chunksOf(text, settings, deps);
  const hasToHaveVectors = isRemote(settings) && !settings.index_method.keyword;
  const vectors = hasToHaveVectors
    ? await embedChunks(embedderOf(settings, deps), chunks, state.context.system.closing)
    : null;
  const tookMs = Math.round(state.context.system.monotonic() - started);
  const { warnings = [], fields } = text;
  await state.inTurn(() =>
    commitItem(state, itemId, {
      revision,
      chunks,
      warnings,
      fields,
      given: vectors,
      tookMs,
      trace,
    }),
  );
  return warnings;
}
