import type { InstanceState } from "../state/instance-state.ts";
import { getJob, noteProgress, type JobNote, type Progress } from "../rows/job-store.ts";
import type { SearchOptions, WorkOptions } from "../models/search-deps.ts";
import { countUnseen, removeUnseen } from "./source-items.ts";
import type { SourceReader } from "../rows/source-reader.ts";
import { type EntryOutcome, takeEntries } from "./take-entries.ts";
import { openSourceHeaders } from "../directory/source-headers.ts";
import { openToken } from "../directory/token-secrets.ts";
import { bucketReader } from "./bucket-reader.ts";
import { sourceOf } from "../state/check-source.ts";
import { siteReader } from "./site-reader.ts";

/** How a job's way through its source ends for now. */
export type SourceEnd =
  | { readonly what: "done"; readonly progress: Progress }
  | { readonly what: "cancelled" }
  /** It goes on after `ms`; `isIdle`: the source is where it was. */
  | { readonly what: "wait"; readonly ms: number; readonly isIdle: boolean };

/** Entries between two notes of progress: what a killed process looks at again. */
const SLICE = 20;
/** Entries of one source. */
const MOST = 100_000;
const PAUSED_MS = 60_000;
/** Items that a scheduled job deletes even if they are most of a source. */
const GUARDED = 10;

const never = new AbortController().signal;

/**
 * Follows the source of an instance from where the job is: takes what has changed, then deletes what is gone, unless the source
 * was not seen whole. Items that clients uploaded are left alone.
 */
export async function followSource(
  state: InstanceState,
  jobId: string,
  begun: Progress,
  deps: WorkOptions,
): Promise<SourceEnd> {
  const source = await openSource(state, deps);
  if (source === null) return { what: "done", progress: begun };
  const signal = state.context.system.closing ?? never;
  let progress = begun;
  const note = async (next: Progress, notes: readonly JobNote[]): Promise<boolean> => {
    progress = next;
    return noteProgress(state, jobId, next, notes);
  };
  const cancelled = async (): Promise<SourceEnd> => {
    await source.cancel(progress.cursor);
    return { what: "cancelled" };
  };
  const wait = (ms: number): SourceEnd => {
    const isIdle = progress.stage === begun.stage && progress.cursor === begun.cursor;
    return { what: "wait", ms, isIdle };
  };
  while (progress.stage === "source") {
    signal.throwIfAborted();
    if (state.facts().settings.paused === true) return wait(PAUSED_MS);
    const part = await source.part(progress.cursor, signal);
    const { total = null } = part;
    if ("waitMs" in part) {
      const isOn = await note({ ...progress, cursor: part.cursor, total }, []);
      return isOn ? wait(part.waitMs) : cancelled();
    }
    for (let at = 0; at < part.entries.length; at += SLICE) {
      const slice = part.entries.slice(at, at + SLICE);
      const job = { id: jobId, source: source.id };
      const outcomes = await takeEntries(state, slice, { job, deps, signal });
      const notes = outcomes.flatMap(({ message, what }) =>
        message === null ? [] : { message, failed: what === "failed" },
      );
      const cursor = slice.at(-1)?.cursor ?? progress.cursor;
      const next = { ...progress, ...counted(progress, outcomes), cursor, total };
      if (!(await note(next, notes))) return cancelled();
      if (state.facts().settings.paused === true) return wait(PAUSED_MS);
    }
    const next = await nextStep({ state, jobId, source }, progress, part.next);
    if (!(await note(next.progress, next.notes))) return cancelled();
  }
  return (await removeGone(state, { jobId, source, note, progress: () => progress, signal }))
    ? { what: "done", progress }
    : cancelled();
}

function counted(
  { indexed, unchanged, failed }: Progress,
  outcomes: readonly EntryOutcome[],
): Pick<Progress, EntryOutcome["what"]> {
  const counts = { indexed, unchanged, failed };
  for (const { what } of outcomes) counts[what] += 1;
  return counts;
}

/** Ends what a cancelled job has begun of its source. */
export async function leaveSource(
  state: InstanceState,
  { stage, cursor }: Progress,
  deps: SearchOptions,
): Promise<void> {
  if (stage === "source") await (await openSource(state, deps))?.cancel(cursor);
}

interface StepInputs {
  readonly state: InstanceState;
  readonly jobId: string;
  readonly source: SourceReader;
}

/** Returns the step after a part: the next part, the deletions, or the end when nothing may be deleted. */
async function nextStep(
  { state, jobId, source }: StepInputs,
  progress: Progress,
  next: string | null,
): Promise<{ readonly progress: Progress; readonly notes: readonly JobNote[] }> {
  const { indexed, unchanged, failed } = progress;
  const isFull = indexed + unchanged + failed >= MOST;
  if (next !== null && !isFull) return { progress: { ...progress, cursor: next }, notes: [] };
  const reason = isFull
    ? `it has more than ${MOST} entries, and the rest was left out`
    : ((await source.incomplete(progress.cursor)) ?? (await mostlyGone(state, jobId, source.id)));
  if (reason === null) return { progress: { ...progress, stage: "gone" }, notes: [] };
  const message = `Nothing of the source was deleted: ${reason}`;
  return { progress: { ...progress, stage: "end" }, notes: [{ message, failed: false }] };
}

/**
 * Returns why a scheduled job does not delete what it has not seen: most of it at once is rather a login that has expired, or a
 * folder that was moved by mistake. A job that somebody starts deletes it.
 */
async function mostlyGone(
  state: InstanceState,
  jobId: string,
  source: string,
): Promise<string | null> {
  if ((await getJob(state, jobId)).source !== "schedule") return null;
  const { all, unseen } = await countUnseen(state, jobId, source);
  if (unseen < GUARDED || unseen * 2 <= all) return null;
  return `${unseen} of its ${all} items are missing. If they may go, start a sync job yourself`;
}

interface GoneInputs {
  readonly jobId: string;
  readonly source: SourceReader;
  readonly note: (next: Progress, notes: readonly JobNote[]) => Promise<boolean>;
  readonly progress: () => Progress;
  readonly signal: AbortSignal;
}

/** Deletes the items that the source has no longer; false when the job was cancelled. */
async function removeGone(
  state: InstanceState,
  { jobId, source, note, progress, signal }: GoneInputs,
): Promise<boolean> {
  while (progress().stage === "gone") {
    signal.throwIfAborted();
    const key = await state.inTurn(() => removeUnseen(state, jobId));
    if (key === null) break;
    const next = { ...progress(), deleted: progress().deleted + 1 };
    const message = `Deleted ${key}: ${source.id} has it no longer`;
    if (!(await note(next, [{ message, failed: false }]))) return false;
  }
  return true;
}

/** Returns the reader of an instance's source; null for an instance of uploads. Throws what is missing for it. */
async function openSource(state: InstanceState, deps: SearchOptions): Promise<SourceReader | null> {
  const { settings } = state.facts();
  const source = settings.type == null ? null : sourceOf(settings, deps);
  if (source === null) return null;
  const [account = ""] = state.actor.split("/");
  if (source.kind === "bucket") {
    const credentials = await openToken(deps, account, source.tokenId);
    return bucketReader({ source, credentials, platform: deps.platform });
  }
  const { crawler } = deps;
  // `sourceOf` has thrown without a crawler.
  if (crawler === undefined) return null;
  const headers = await openSourceHeaders(deps, account, settings);
  return siteReader({ ...source, wish: { ...source.wish, headers } }, account, crawler);
}
