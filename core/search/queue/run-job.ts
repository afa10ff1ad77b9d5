import { ApiError } from "../../http/api-error.ts";
import type { SqlRow } from "../../ports.ts";
import { recipeOf } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";
import {
  endJob,
  type JobNote,
  jobProgress,
  lastProgress,
  noteProgress,
  type Progress,
} from "../rows/job-store.ts";
import { failItem } from "../ingest/remove-item.ts";
import { trainInstance } from "../ingest/train-instance.ts";
import type { SearchOptions, WorkOptions } from "../models/search-deps.ts";
import { followSource, leaveSource } from "../source/follow-source.ts";
import { indexContent, indexedNote } from "../ingest/index-content.ts";
import { tracedWork } from "./traced-work.ts";
import {
  cutOff,
  dropWork,
  enqueue,
  MOST_INTERRUPTIONS,
  postpone,
  renewLease,
  type Work,
} from "../state/work-rows.ts";

/** Items that are looked up at a time. */
const SLICE = 50;
/** Milliseconds after which a job of a paused instance is looked at again, unless it goes on before. */
const PAUSED_MS = 60_000;

/**
 * Goes on with a sync job: indexes again what was indexed in another way than the settings say now, and what failed; then
 * follows the source of the instance. Where it is, is stored with every step, so that the next process goes on there.
 */
export async function runJob(state: InstanceState, work: Work, deps: SearchOptions): Promise<void> {
  const { actor, context } = state;
  try {
    await tracedWork(actor, work, deps, async (own, options) => {
      const rest = await goOn(state, work, options);
      if (rest === null) return true;
      const due = context.steady() + rest.ms;
      await state.clock.write([postpone(actor, rest.isIdle ? work : own, due)], due);
      return !rest.isIdle;
    });
  } catch (error) {
    if (context.system.closing?.aborted === true || !state.exists()) return;
    deps.platform.log("warn", "A sync job failed", { job_id: work.id, error: String(error) });
    await finish(state, work.id, `error: ${(await noteEnd(state, work.id, error)).slice(0, 200)}`);
  }
}

async function finish(state: InstanceState, id: string, reason: string): Promise<void> {
  await endJob(state, id, reason);
  await state.context.sql.batch([dropWork(state.actor, id)]);
}

/** How long a job waits; `isIdle`: nothing was done since it waited the last time. */
interface Rest {
  readonly ms: number;
  readonly isIdle: boolean;
}

/** Does what can be done now; null once the job is over, or the process ends. */
async function goOn(
  state: InstanceState,
  { id: jobId, attempts }: Work,
  deps: WorkOptions,
): Promise<Rest | null> {
  const { context } = state;
  const over = async (reason: string): Promise<null> => {
    await finish(state, jobId, reason);
    return null;
  };
  await context.sql.batch([renewLease(state, jobId)]);
  const begun = await jobProgress(state, jobId);
  let progress = begun;
  // Only what comes first: everything behind it has not been tried.
  const wasCutOff = attempts > MOST_INTERRUPTIONS;
  while (progress?.stage === "items") {
    if (context.system.closing?.aborted === true) return null;
    const isPaused = state.facts().settings.paused === true;
    if (isPaused) return { ms: PAUSED_MS, isIdle: progress === begun };
    progress = await syncItems(state, {
      jobId,
      before: progress,
      wasCutOff: wasCutOff && progress === begun,
      deps,
    });
  }
  if (progress === null) {
    await leaveSource(state, await lastProgress(state, jobId), deps);
    return over("cancelled");
  }
  // A part of the source, a deletion or a training cannot be left out.
  if (wasCutOff && progress === begun) throw cutOff("source");
  const end = await followSource(state, jobId, progress, deps);
  if (end.what === "wait") return { ms: end.ms, isIdle: end.isIdle && progress === begun };
  if (end.what === "cancelled") return over("cancelled");
  await trainInstance(state, deps.platform.background);
  return over(reasonOf(end.progress));
}

/** Writes into the log of a job why it failed. */
async function noteEnd(state: InstanceState, jobId: string, error: unknown): Promise<string> {
  const reason = error instanceof ApiError ? error.message : "internal error";
  const progress = await jobProgress(state, jobId);
  if (progress !== null)
    await noteProgress(state, jobId, progress, [{ message: reason, failed: true }]);
  return reason;
}

function reasonOf({ failed }: Progress): string {
  return failed === 0 ? "completed" : `completed with ${failed} failed items`;
}

interface SyncStep {
  readonly jobId: string;
  readonly before: Progress;
  /** Whether the first of them that has to be indexed was begun too often. */
  readonly wasCutOff: boolean;
  readonly deps: WorkOptions;
}

/** Looks at the next items; null when the job was cancelled. */
async function syncItems(
  state: InstanceState,
  { jobId, before, wasCutOff, deps }: SyncStep,
): Promise<Progress | null> {
  let progress = before;
  let isLeftOut = wasCutOff;
  const rows = await nextItems(state, progress.after);
  if (rows.length === 0) {
    const message = `Left ${progress.unchanged} unchanged items as they are`;
    const notes = progress.unchanged > 0 ? [{ message, failed: false }] : [];
    // Items of a source are counted when the source is read.
    const unchanged = state.facts().settings.type == null ? progress.unchanged : 0;
    progress = { ...progress, unchanged, stage: "source" };
    return (await noteProgress(state, jobId, progress, notes)) ? progress : null;
  }
  for (const row of rows) {
    const outcome = await syncItem(state, row, isLeftOut, deps);
    if (state.context.system.closing?.aborted === true) return progress;
    progress = advanced(progress, row, outcome);
    isLeftOut &&= outcome === null;
    const notes = outcome === null ? [] : [outcome];
    if (!(await noteProgress(state, jobId, progress, notes))) return null;
  }
  return progress;
}

/** Returns the next items to sync. Items whose source could not load them have no content, and are skipped. */
function nextItems({ actor, context }: InstanceState, after: string): Promise<SqlRow[]> {
  return context.sql.all(
    `SELECT id, key, status, recipe, revision, indexed_revision FROM search_items
      WHERE actor = ? AND id > ? AND revision > 0 ORDER BY id LIMIT ?`,
    [actor, after, SLICE],
  );
}

/** A job's note on one item; null = nothing had to be done. */
type Outcome = JobNote | null;

function advanced(progress: Progress, row: SqlRow, outcome: Outcome): Progress {
  return {
    ...progress,
    after: String(row["id"]),
    indexed: progress.indexed + (outcome?.failed === false ? 1 : 0),
    failed: progress.failed + (outcome?.failed === true ? 1 : 0),
    unchanged: progress.unchanged + (outcome === null ? 1 : 0),
  };
}

async function syncItem(
  state: InstanceState,
  row: SqlRow,
  isLeftOut: boolean,
  deps: WorkOptions,
): Promise<Outcome> {
  const id = String(row["id"]);
  const isUnchanged =
    row["status"] === "completed" && row["recipe"] === recipeOf(state.facts().settings);
  // The queue has it already.
  if (isUnchanged || row["status"] === "running" || row["status"] === "queued") return null;
  const started = state.context.system.monotonic();
  if (isLeftOut) return leaveOut(state, id, Number(row["revision"]));
  try {
    const revision = Number(row["revision"]);
    const warnings = await indexContent(state, id, { revision, deps, started });
    return { message: indexedNote(`item ${id}`, warnings), failed: false };
  } catch (error) {
    if (!state.exists() || state.context.system.closing?.aborted === true) throw error;
    // Tried again by itself, and its failure is noted on it.
    const statement = enqueue(
      state,
      { id, stage: "text", revision: Number(row["revision"]), trace: deps.trace },
      false,
    );
    await state.clock.write([statement], state.context.steady());
    state.queueNews.notify();
    return { message: `Item ${id}: ${String(error).slice(0, 200)}`, failed: true };
  }
}

/** Notes on an item that it is not tried again; it may have been deleted meanwhile. */
async function leaveOut(state: InstanceState, id: string, revision: number): Promise<Outcome> {
  const { message } = cutOff("item");
  try {
    await state.inTurn(() => failItem(state, id, { revision, error: message, tookMs: 0 }));
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  return { message: `Item ${id}: ${message}`, failed: true };
}
