import { sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { FILE_LIMIT } from "../ingest/extract-text.ts";
import { beginUpload } from "../rows/item-store.ts";
import { failItem } from "../ingest/remove-item.ts";
import { indexContent, indexedNote } from "../ingest/index-content.ts";
import { releaseWork } from "../state/work-rows.ts";
import type { WorkOptions } from "../models/search-deps.ts";
import { type KnownItem, knownItems, markSeen, noteSourceFailure } from "./source-items.ts";
import { MAX_SOURCE_KEY, type SourceEntry } from "../rows/source-reader.ts";

export interface EntryOutcome {
  readonly what: "indexed" | "unchanged" | "failed";
  /** For the log of the job; null where there is nothing to say. */
  readonly message: string | null;
}

export interface TakingJob {
  readonly id: string;
  /** The `source_id` of its items. */
  readonly source: string;
}

/** Entries that are loaded and indexed at a time. */
const LANES = 4;
const encoder = new TextEncoder();

/** The job that takes entries of a source. */
export interface TakingInputs {
  readonly job: TakingJob;
  readonly deps: WorkOptions;
  readonly signal: AbortSignal;
}

/** Takes entries of a source: what has changed is loaded and indexed. A failure is noted on its item and stops nothing. */
export async function takeEntries(
  state: InstanceState,
  entries: readonly SourceEntry[],
  { job, deps, signal }: TakingInputs,
): Promise<EntryOutcome[]> {
  const known = await knownItems(
    state,
    entries.map(({ key }) => key),
  );
  const isSame = ({ key, version }: SourceEntry): boolean => {
    const item = known.get(key);
    return version !== null && item?.source === job.source && item.version === version;
  };
  const same = entries.filter(isSame);
  const seen = same.map(({ key, version }) => ({ id: known.get(key)?.id ?? "", version }));
  await markSeen(state, seen, job.id);
  const outcomes: EntryOutcome[] = same.map(() => unchanged);
  const waiting = entries.filter((entry) => !isSame(entry)).toReversed();
  const lane = async (): Promise<void> => {
    for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop())
      outcomes.push(
        await takeEntry(state, entry, { known: known.get(entry.key), job, deps, signal }),
      );
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return outcomes;
}

const unchanged: EntryOutcome = { what: "unchanged", message: null };

async function takeEntry(
  state: InstanceState,
  entry: SourceEntry,
  { known, job, deps, signal }: TakingInputs & { readonly known: KnownItem | undefined },
): Promise<EntryOutcome> {
  const { key, version } = entry;
  if (encoder.encode(key).length > MAX_SOURCE_KEY)
    return failed(key, `its key has more than ${MAX_SOURCE_KEY} bytes`);
  if (known !== undefined && known.source === null)
    return failed(key, "an upload has this key already: delete it first");
  try {
    const content = await entry.load(signal);
    if (content.bytes.length > FILE_LIMIT)
      throw new ApiError("file_too_large", { message: `More than ${FILE_LIMIT} bytes` });
    const checksum = await sha256Hex(content.bytes);
    if (known?.checksum === checksum && known.status !== "error") {
      // Another source may have given the same before.
      if (known.source === job.source) {
        await markSeen(state, [{ id: known.id, version }], job.id);
        return unchanged;
      }
    }
    const source = { id: job.source, version, job: job.id };
    const { bytes, contentType, metadata, modified } = content;
    const { trace } = deps;
    const upload = { key, bytes, contentType, metadata, checksum, source, trace };
    const attempt = await state.inTurn(() =>
      beginUpload(state, modified === undefined ? upload : { ...upload, modified }),
    );
    return await index(state, key, attempt, deps);
  } catch (error) {
    signal.throwIfAborted();
    if (!state.exists()) throw error;
    const reason = error instanceof ApiError ? error.message : "The source could not be asked";
    await state.inTurn(() =>
      noteSourceFailure(state, { key, known, source: job.source, job: job.id, reason }),
    );
    return failed(key, reason);
  }
}

/** Indexes the stored content. A failure caused by the content is final; after any other the queue tries again. */
async function index(
  state: InstanceState,
  key: string,
  { itemId, revision, isOwn }: { itemId: string; revision: number; isOwn: boolean },
  deps: WorkOptions,
): Promise<EntryOutcome> {
  const { system } = state.context;
  const started = system.monotonic();
  // The queue has it: the instance is paused, or waits for its embedder.
  if (!isOwn) return { what: "indexed", message: `Stored ${key}` };
  try {
    const warnings = await indexContent(state, itemId, { revision, deps, started });
    return { what: "indexed", message: indexedNote(key, warnings) };
  } catch (error) {
    if (!state.exists() || system.closing?.aborted === true) throw error;
    const isFinal = error instanceof ApiError && error.status < 500;
    const reason = error instanceof ApiError ? error.message : "internal error";
    const tookMs = Math.round(system.monotonic() - started);
    await (isFinal
      ? state.inTurn(() => failItem(state, itemId, { revision, error: reason, tookMs }))
      : state.inTurn(() => releaseWork(state, itemId)));
    return failed(key, reason);
  }
}

function failed(key: string, reason: string): EntryOutcome {
  return { what: "failed", message: `${key}: ${reason}` };
}
