import type { SqlRow } from "../../ports.ts";
import { recipeOf } from "../instance/instance-settings.ts";
import type { InstanceState } from "../instance/instance-state.ts";
import { endJob, jobProgress, noteProgress, type Progress } from "../items/job-store.ts";
import { trainInstance } from "../lexical/train-instance.ts";
import type { SearchOptions } from "../search-deps.ts";
import { indexContent } from "./index-content.ts";
import { dropWork, enqueue, type Work } from "./work-rows.ts";

/** Items that are looked up at a time. */
const SLICE = 50;

/**
 * Goes on with a sync job: indexes again what was indexed in another way than the settings say now, and what failed. Where it
 * is, is stored with every item, so that the next process goes on there.
 */
export async function runJob(state: InstanceState, work: Work, deps: SearchOptions): Promise<void> {
  const { actor, context } = state;
  const finish = async (reason: string): Promise<void> => {
    await endJob(state, work.id, reason);
    await context.sql.batch([dropWork(actor, work.id)]);
  };
  try {
    let progress = await jobProgress(state, work.id);
    while (progress !== null) {
      const rows = await nextItems(state, progress.after);
      if (rows.length === 0) return await end(state, progress, finish, work.id);
      for (const row of rows) {
        const outcome = await syncItem(state, row, deps);
        if (context.system.closing?.aborted === true) return;
        progress = advanced(progress, row, outcome);
        if (!(await noteProgress(state, work.id, progress, outcome)))
          return await finish("cancelled");
      }
    }
    await finish("cancelled");
  } catch (error) {
    if (context.system.closing?.aborted === true || !state.exists()) return;
    deps.platform.log("warn", "A sync job failed", { job_id: work.id, error: String(error) });
    await finish("error");
  }
}

async function end(
  state: InstanceState,
  progress: Progress,
  finish: (reason: string) => Promise<void>,
  jobId: string,
): Promise<void> {
  if (progress.unchanged > 0) {
    const message = `Left ${progress.unchanged} unchanged items as they are`;
    await noteProgress(state, jobId, progress, { message, failed: false });
  }
  await trainInstance(state);
  await finish(
    progress.failed === 0 ? "completed" : `completed with ${progress.failed} failed items`,
  );
}

function nextItems({ actor, context }: InstanceState, after: string): Promise<SqlRow[]> {
  return context.sql.all(
    `SELECT id, key, status, recipe, revision, indexed_revision FROM search_items
      WHERE actor = ? AND id > ? ORDER BY id LIMIT ?`,
    [actor, after, SLICE],
  );
}

/** What a job says of one item; null = it had nothing to do. */
type Outcome = { readonly message: string; readonly failed: boolean } | null;

function advanced(progress: Progress, row: SqlRow, outcome: Outcome): Progress {
  return {
    after: String(row["id"]),
    indexed: progress.indexed + (outcome?.failed === false ? 1 : 0),
    failed: progress.failed + (outcome?.failed === true ? 1 : 0),
    unchanged: progress.unchanged + (outcome === null ? 1 : 0),
  };
}

async function syncItem(state: InstanceState, row: SqlRow, deps: SearchOptions): Promise<Outcome> {
  const id = String(row["id"]);
  const isUnchanged =
    row["status"] === "completed" && row["recipe"] === recipeOf(state.facts().settings);
  // The queue has it already.
  if (isUnchanged || row["status"] === "running") return null;
  const started = state.context.system.monotonic();
  try {
    await indexContent(state, id, Number(row["revision"]), deps, started);
    return { message: `Indexed item ${id}`, failed: false };
  } catch (error) {
    if (!state.exists() || state.context.system.closing?.aborted === true) throw error;
    // Tried again by itself, and its failure is noted on it.
    const statement = enqueue(
      state,
      { id, stage: "text", revision: Number(row["revision"]) },
      false,
    );
    await state.clock.write([statement], state.context.steady());
    state.bell.ring();
    return { message: `Item ${id}: ${String(error).slice(0, 200)}`, failed: true };
  }
}
