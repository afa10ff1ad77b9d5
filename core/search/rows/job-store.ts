import { ApiError } from "../../http/api-error.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import type { SqlRow, SqlValue } from "../../ports.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { enqueue, noteStep } from "../state/work-rows.ts";

/** A sync job as the API shows it (docs/compatibility.md). */
export type SyncJob = {
  readonly id: string;
  readonly source: JobSource;
  readonly description?: string;
  readonly started_at: string;
  readonly last_seen_at: string;
  readonly ended_at?: string;
  readonly end_reason?: string;
  /** Items so far; our own addition. */
  readonly progress: Omit<Progress, "after" | "stage" | "cursor">;
};

export type JobSource = "user" | "schedule";

/** An entry of a job's log. `message_type` 0 = information, 1 = error. */
export type JobLog = {
  readonly id: number;
  readonly created_at: number;
  readonly message: string;
  readonly message_type: number;
};

/** Jobs that are kept per instance. */
const KEPT_JOBS = 100;
/** Between the starts of two sync jobs, in ms (docs/compatibility.md). */
const COOLDOWN_MS = 30_000;
/** Entries of a job's log that are kept. */
const KEPT_LOGS = 500;

/** How far a sync job has come. */
export type Progress = {
  /** The last item that was looked at; they come in the order of their ids. */
  readonly after: string;
  readonly indexed: number;
  readonly failed: number;
  readonly unchanged: number;
  readonly deleted: number;
  /** Entries of the source, as far as they are known; null without a source. */
  readonly total: number | null;
  /** First the items that are there, then the source of the instance, then what the source has no longer. */
  readonly stage: "items" | "source" | "gone" | "end";
  /** The reader's position in the source. */
  readonly cursor: string;
};

/** An entry of the log that is to be written. */
export type JobNote = { readonly message: string; readonly failed: boolean };

const NOTHING: Progress = {
  after: "",
  indexed: 0,
  failed: 0,
  unchanged: 0,
  deleted: 0,
  total: null,
  stage: "items",
  cursor: "",
};

/**
 * Starts a job, which the queue of the instance runs; throws 7020 when one started less than 30 seconds ago, or follows the
 * source still: two would each delete what the other has seen.
 */
export async function startJob(
  state: InstanceState,
  description: string | undefined,
  source: JobSource,
  trace: string | null = null,
): Promise<SyncJob> {
  const { settings } = state.facts();
  const { sql, system } = state.context;
  const now = system.now();
  const [last] = await sql.all("SELECT MAX(started_ms) AS at FROM search_jobs WHERE actor = ?", [
    state.actor,
  ]);
  const wait = last?.["at"] == null ? 0 : Number(last["at"]) + COOLDOWN_MS - now;
  if (wait > 0) {
    const after = Math.ceil(wait / 1000);
    throw new ApiError("sync_in_cooldown", {
      message: `sync_in_cooldown: the next job can start in ${after} s`,
      headers: { "retry-after": String(after) },
    });
  }
  if (settings.type != null) await checkNoneRuns(state);
  const id = system.id();
  const kept = `started_ms >= (SELECT MIN(started_ms) FROM
    (SELECT started_ms FROM search_jobs WHERE actor = ? ORDER BY started_ms DESC LIMIT ?) AS kept)`;
  await state.clock.write(
    [
      {
        sql: "INSERT INTO search_jobs (actor, id, description, source, started_ms, seen_ms, log) VALUES (?, ?, ?, ?, ?, ?, '')",
        params: [state.actor, id, description?.toWellFormed() ?? null, source, now, now],
      },
      {
        sql: `DELETE FROM search_jobs WHERE actor = ? AND NOT (${kept})`,
        params: [state.actor, state.actor, KEPT_JOBS],
      },
      {
        sql: `DELETE FROM search_job_logs WHERE actor = ? AND job_id NOT IN (SELECT id FROM search_jobs WHERE actor = ?)`,
        params: [state.actor, state.actor],
      },
      enqueue(state, { id, stage: "job", revision: 0, trace }, false),
    ],
    state.context.steady(),
  );
  state.queueNews.notify();
  return getJob(state, id);
}

async function checkNoneRuns({ actor, context: { sql } }: InstanceState): Promise<void> {
  const [row] = await sql.all(
    "SELECT id FROM search_jobs WHERE actor = ? AND ended_ms IS NULL LIMIT 1",
    [actor],
  );
  if (row === undefined) return;
  throw new ApiError("sync_in_cooldown", {
    message: `sync_in_cooldown: the job "${String(row["id"])}" is still running`,
    headers: { "retry-after": "30" },
  });
}

/** Returns how far a job has come; null when it was cancelled, or deleted, and should stop. */
export async function jobProgress(state: InstanceState, id: string): Promise<Progress | null> {
  const [row] = await state.context.sql.all(
    "SELECT ended_ms, progress FROM search_jobs WHERE actor = ? AND id = ?",
    [state.actor, id],
  );
  return row === undefined || row["ended_ms"] !== null ? null : readProgress(row["progress"]);
}

/** Returns how far a job had come, whether it has ended or not. */
export async function lastProgress(
  { actor, context }: InstanceState,
  id: string,
): Promise<Progress> {
  const [row] = await context.sql.all(
    "SELECT progress FROM search_jobs WHERE actor = ? AND id = ?",
    [actor, id],
  );
  return readProgress(row?.["progress"]);
}

function readProgress(stored: SqlValue | undefined): Progress {
  if (typeof stored !== "string") return NOTHING;
  return { ...NOTHING, ...(JSON.parse(stored) as Partial<Progress>) };
}

/** Notes progress, with entries in the log; false when the job was cancelled and should stop. */
export async function noteProgress(
  state: InstanceState,
  id: string,
  progress: Progress,
  entries: readonly JobNote[],
): Promise<boolean> {
  const { actor, context } = state;
  const { sql, system } = context;
  const now = system.now();
  const note = entries.map(({ message, failed }) => ({
    sql: `INSERT INTO search_job_logs (actor, job_id, seq, at_ms, message, failed)
      SELECT ?, ?, COALESCE(MAX(seq), 0) + 1, ?, ?, ? FROM search_job_logs WHERE actor = ? AND job_id = ?`,
    params: [actor, id, now, message.toWellFormed().slice(0, 300), failed ? 1 : 0, actor, id],
  }));
  if (note.length > 0)
    note.push({
      sql: `DELETE FROM search_job_logs WHERE actor = ? AND job_id = ? AND seq <=
        (SELECT MAX(seq) FROM search_job_logs WHERE actor = ? AND job_id = ?) - ?`,
      params: [actor, id, actor, id, KEPT_LOGS],
    });
  const [updated] = await sql.batch([
    {
      sql: "UPDATE search_jobs SET seen_ms = ?, progress = ? WHERE actor = ? AND id = ? AND ended_ms IS NULL",
      params: [now, JSON.stringify(progress), actor, id],
    },
    noteStep(state, id),
    ...note,
  ]);
  return updated?.changes === 1;
}

/** Ends a job that still runs. */
export async function endJob(state: InstanceState, id: string, reason: string): Promise<void> {
  const now = state.context.system.now();
  await state.context.sql.batch([
    {
      sql: "UPDATE search_jobs SET ended_ms = ?, seen_ms = ?, end_reason = ? WHERE actor = ? AND id = ? AND ended_ms IS NULL",
      params: [now, now, reason, state.actor, id],
    },
  ]);
}

/** Cancels a job; throws 7046 when it has ended. */
export async function cancelJob(state: InstanceState, id: string): Promise<SyncJob> {
  const job = await getJob(state, id);
  if (job.ended_at !== undefined)
    throw new ApiError("job_not_cancellable", { message: "job_cannot_be_cancelled: it has ended" });
  await endJob(state, id, "cancelled");
  return getJob(state, id);
}

/** One job; throws 7021. */
export async function getJob(state: InstanceState, id: string): Promise<SyncJob> {
  return toJob(await jobRow(state, id));
}

export async function jobLogs(
  state: InstanceState,
  id: string,
  page: number,
  perPage: number,
): Promise<{ logs: JobLog[]; total: number }> {
  await jobRow(state, id);
  const { sql } = state.context;
  const [count] = await sql.all(
    "SELECT COUNT(*) AS n FROM search_job_logs WHERE actor = ? AND job_id = ?",
    [state.actor, id],
  );
  const rows = await sql.all(
    `SELECT seq, at_ms, message, failed FROM search_job_logs WHERE actor = ? AND job_id = ?
      ORDER BY seq LIMIT ? OFFSET ?`,
    [state.actor, id, perPage, (page - 1) * perPage],
  );
  const logs = rows.map((row) => ({
    id: Number(row["seq"]),
    created_at: Number(row["at_ms"]),
    message: String(row["message"]),
    message_type: Number(row["failed"]),
  }));
  return { logs, total: Number(count?.["n"] ?? 0) };
}

async function jobRow(state: InstanceState, id: string): Promise<SqlRow> {
  state.facts();
  const [row] = await state.context.sql.all(
    "SELECT * FROM search_jobs WHERE actor = ? AND id = ?",
    [state.actor, id],
  );
  if (row === undefined)
    throw new ApiError("job_not_found", { message: `job_not_found: no job "${id.slice(0, 64)}"` });
  return row;
}

/** Returns a page of jobs, newest first. */
export async function listJobs(
  state: InstanceState,
  page: number,
  perPage: number,
): Promise<{ jobs: SyncJob[]; total: number }> {
  state.facts();
  const { sql } = state.context;
  const [count] = await sql.all("SELECT COUNT(*) AS n FROM search_jobs WHERE actor = ?", [
    state.actor,
  ]);
  const rows = await sql.all(
    "SELECT * FROM search_jobs WHERE actor = ? ORDER BY started_ms DESC, id LIMIT ? OFFSET ?",
    [state.actor, perPage, (page - 1) * perPage],
  );
  return { jobs: rows.map(toJob), total: Number(count?.["n"] ?? 0) };
}

function toJob(row: SqlRow): SyncJob {
  const ended = row["ended_ms"] ?? null;
  const { indexed, failed, unchanged, deleted, total } = readProgress(row["progress"]);
  return {
    id: String(row["id"]),
    source: row["source"] === "schedule" ? "schedule" : "user",
    ...(row["description"] === null ? {} : { description: String(row["description"]) }),
    started_at: formatInstant(Number(row["started_ms"])),
    last_seen_at: formatInstant(Number(row["seen_ms"])),
    ...(ended === null ? {} : { ended_at: formatInstant(Number(ended)) }),
    ...(row["end_reason"] === null ? {} : { end_reason: String(row["end_reason"]) }),
    progress: { indexed, failed, unchanged, deleted, total },
  };
}
