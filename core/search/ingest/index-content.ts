import { isRemote } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { commitItem } from "./commit-item.ts";
import { embedChunks } from "./embed-chunks.ts";
import { extractText } from "./extract-text.ts";
import { usesOcr } from "./read-pictures.ts";
import { chunksOf } from "./chunks-of.ts";
import { type FileWarning, lostText } from "../read/file-warning.ts";
import { readContent } from "../rows/item-store.ts";
import type { WorkOptions } from "../models/search-deps.ts";
import { embedderOf } from "./embed-item.ts";

/** An attempt to index an item. */
export interface IndexAttempt {
  readonly revision: number;
  readonly deps: WorkOptions;
  /** When it began, by the monotonic clock. */
  readonly started: number;
}

/** Returns the note of a job that an item was indexed, and what of it was not. */
export function indexedNote(name: string, warnings: readonly FileWarning[]): string {
  return warnings.length === 0
    ? `Indexed ${name}`
    : `Indexed ${name} without some of it: ${lostText(warnings)}`;
}

/** Indexes an item from its stored content; `started` is when that began, of `monotonic()`. Returns what of it could not be read. */
export async function indexContent(
  state: InstanceState,
  itemId: string,
  { revision, deps, started }: IndexAttempt,
): Promise<readonly FileWarning[]> {
  const { settings } = state.facts();
  const content = await readContent(state, itemId);
  const text = await extractText(content, deps, () => Promise.resolve(usesOcr(settings)));
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
      trace: deps.trace,
    }),
  );
  return warnings;
}
