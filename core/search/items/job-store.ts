import { ApiError } from "../../http/api-error.ts";
import { formatInstant } from "../../http/instant.ts";
import type { SqlRow } from "../../ports.ts";
import type { InstanceState } from "../instance/instance-state.ts";

/** A sync job as the API shows it (docs/compatibility.md). */
export type Job = {
  readonly id: string;
  readonly source: "user";
  readonly description?: string;
  readonly started_at: string;
  readonly last_seen_at: string;
  readonly ended_at?: string;
  readonly end_reason?: string;
};

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
/** A job that has not been heard of for this long died with its process, in ms. */
const LOST_AFTER_MS = 10 * 60_000;

/** Starts a job; throws 7020 when one started less than 30 seconds ago. */
export async function startJob(
  state: InstanceState,
  description: string | undefined,
): Promise<{ job: Job; itemIds: string[] }> {
  state.facts();
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
  const id = system.id();
  await sql.batch([
    {
      sql: "INSERT INTO search_jobs (actor, id, description, started_ms, seen_ms, log) VALUES (?, ?, ?, ?, ?, '[]')",
      params: [state.actor, id, description?.toWellFormed() ?? null, now, now],
    },
    {
      sql: `DELETE FROM search_jobs WHERE actor = ? AND started_ms <
        (SELECT MIN(started_ms) FROM (SELECT started_ms FROM search_jobs WHERE actor = ? ORDER BY started_ms DESC LIMIT ?) AS kept)`,
      params: [state.actor, state.actor, KEPT_JOBS],
    },
  ]);
  const rows = await sql.all("SELECT id FROM search_items WHERE actor = ? ORDER BY key", [
    state.actor,
  ]);
  return { job: await getJob(state, id), itemIds: rows.map((row) => String(row["id"])) };
}

/** Notes progress; false when the job was cancelled (or deleted) and should stop. */
export async function jobProgress(
  state: InstanceState,
  id: string,
  message: string,
  failed: boolean,
): Promise<boolean> {
  if (!state.exists()) return false;
  const [row] = await state.context.sql.all(
    "SELECT * FROM search_jobs WHERE actor = ? AND id = ?",
    [state.actor, id],
  );
  if (row === undefined || row["ended_ms"] !== null) return false;
  const now = state.context.system.now();
  const log = JSON.parse(String(row["log"])) as JobLog[];
  log.push({
    id: log.length + 1,
    created_at: now,
    message: message.slice(0, 300),
    message_type: failed ? 1 : 0,
  });
  await state.context.sql.batch([
    {
      sql: "UPDATE search_jobs SET seen_ms = ?, log = ? WHERE actor = ? AND id = ?",
      params: [now, JSON.stringify(log.slice(-500)), state.actor, id],
    },
  ]);
  return true;
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
export async function cancelJob(state: InstanceState, id: string): Promise<Job> {
  const job = await getJob(state, id);
  if (job.ended_at !== undefined)
    throw new ApiError("job_not_cancellable", { message: "job_cannot_be_cancelled: it has ended" });
  await endJob(state, id, "cancelled");
  return getJob(state, id);
}

/** One job; throws 7021. */
export async function getJob(state: InstanceState, id: string): Promise<Job> {
  return toJob(await jobRow(state, id), state.context.system.now());
}

/** The log of a job. */
export async function jobLogs(state: InstanceState, id: string): Promise<JobLog[]> {
  return JSON.parse(String((await jobRow(state, id))["log"])) as JobLog[];
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

/** A page of jobs, newest first. */
export async function listJobs(
  state: InstanceState,
  page: number,
  perPage: number,
): Promise<{ jobs: Job[]; total: number }> {
  state.facts();
  const { sql, system } = state.context;
  const [count] = await sql.all("SELECT COUNT(*) AS n FROM search_jobs WHERE actor = ?", [
    state.actor,
  ]);
  const rows = await sql.all(
    "SELECT * FROM search_jobs WHERE actor = ? ORDER BY started_ms DESC, id LIMIT ? OFFSET ?",
    [state.actor, perPage, (page - 1) * perPage],
  );
  return { jobs: rows.map((row) => toJob(row, system.now())), total: Number(count?.["n"] ?? 0) };
}

function toJob(row: SqlRow, now: number): Job {
  const seen = Number(row["seen_ms"]);
  const lost = row["ended_ms"] === null && now - seen > LOST_AFTER_MS;
  const ended = lost ? seen : row["ended_ms"];
  return {
    id: String(row["id"]),
    source: "user",
    ...(row["description"] === null ? {} : { description: String(row["description"]) }),
    started_at: formatInstant(Number(row["started_ms"])),
    last_seen_at: formatInstant(seen),
    ...(ended === null || ended === undefined ? {} : { ended_at: formatInstant(Number(ended)) }),
    ...(lost
      ? { end_reason: "interrupted" }
      : row["end_reason"] === null
        ? {}
        : { end_reason: String(row["end_reason"]) }),
  };
}
