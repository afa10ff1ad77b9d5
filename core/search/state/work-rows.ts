import { type ApiError, invalidRequest } from "../../http/api-error.ts";
import type { Clock } from "../../entity/clock.ts";
import type { ActorContext, SqlRow, SqlValue, Statement } from "../../ports.ts";
import type { Notifier } from "./notifier.ts";

/**
 * The next step of waiting work: index the text of an item, the same with the pictures of its file, make the vectors of an
 * item whose text is indexed, go on with a sync job, or begin the next one.
 */
export type Stage = "text" | "pictures" | "vectors" | "job" | "schedule";

/** One row of the queue. An item or a job has one at most; a newer one takes its place. */
export interface Work {
  /** The id of the item or the job. */
  readonly id: string;
  readonly stage: Stage;
  readonly revision: number;
  /** Attempts that have begun, this one included. */
  readonly attempts: number;
  /** Tells this row from one that has taken its place meanwhile. */
  readonly token: string;
  /** The `traceparent` of the request behind it; null = each run begins a trace. */
  readonly trace: string | null;
}

/** Whose queue it is. */
export interface QueueOwner {
  readonly actor: string;
  readonly context: ActorContext;
}

/**
 * How long work stays leased to the process that took it, in ms of `steady()`: the restart of its actor ends the lease at
 * once.
 */
const LEASE_MS = 120_000;
/** The same for what says how far it is, in ms. */
const LONG_LEASE_MS = 900_000;

/** Attempts that may be cut off by the death of the process: what they do may be what kills it. */
export const MOST_INTERRUPTIONS = 5;
/** Attempts at an item whose pictures have to be read: with the pauses between them, about ten minutes. */
export const MOST_PICTURE_ATTEMPTS = 10;

/** Makes the error for work that was cut off that often. */
export function cutOff(what: "item" | "source", times: number = MOST_INTERRUPTIONS): ApiError {
  return invalidRequest(`Indexing was cut off ${times} times: sync the ${what} again`);
}

/** Work that is to wait in the queue. */
export interface NewWork {
  readonly id: string;
  readonly stage: Stage;
  readonly revision: number;
  /** The `traceparent` of the request behind it. @default that of the work that it replaces */
  readonly trace?: string | null | undefined;
}

/** Returns the statement that puts work into the queue, due after `ms`, replacing work that waits for the same item. */
export function enqueue(
  { actor, context }: QueueOwner,
  work: NewWork,
  leased: boolean,
  ms = 0,
): Statement {
  const now = context.steady() + ms;
  return {
    sql: `INSERT INTO search_work (actor, id, stage, revision, token, due_ms, lease_ms, trace, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)
      ON CONFLICT (actor, id) DO UPDATE SET stage = excluded.stage, revision = excluded.revision, token = excluded.token,
      due_ms = excluded.due_ms, lease_ms = excluded.lease_ms,
      trace = ${work.trace === undefined ? "search_work" : "excluded"}.trace, attempts = 0`,
    params: [
      actor,
      work.id,
      work.stage,
      work.revision,
      context.system.id(),
      now,
      leased ? now + LEASE_MS : 0,
      work.trace ?? null,
    ],
  };
}

/** Returns the statement that takes work out of the queue, whichever it is. */
export function dropWork(actor: string, id: string): Statement {
  return { sql: "DELETE FROM search_work WHERE actor = ? AND id = ?", params: [actor, id] };
}

/** Leaves work to the queue that its caller could not do. */
export async function releaseWork(
  state: QueueOwner & { readonly clock: Clock; readonly queueNews: Notifier },
  id: string,
): Promise<void> {
  await state.clock.write(
    [
      {
        sql: "UPDATE search_work SET lease_ms = 0 WHERE actor = ? AND id = ?",
        params: [state.actor, id],
      },
    ],
    state.context.steady(),
  );
  state.queueNews.notify();
}

/**
 * Returns the statement that has work wait until `due` (of `steady()`). A job that waits has come so far: its attempts
 * count from there.
 */
export function postpone(actor: string, { id, stage, token, trace }: Work, due: number): Statement {
  const attempts = stage === "job" ? 0 : "attempts";
  return {
    sql: `UPDATE search_work SET due_ms = ?, lease_ms = 0, trace = ?, attempts = ${attempts} WHERE actor = ? AND id = ? AND token = ?`,
    params: [due, trace, actor, id, token],
  };
}

/** Returns the statement that has jobs go on now. */
export function jobsDue({ actor, context }: QueueOwner): Statement {
  return {
    sql: "UPDATE search_work SET due_ms = ? WHERE actor = ? AND stage = 'job'",
    params: [context.steady(), actor],
  };
}

/** Returns the statement that keeps others off work that takes long, for as long as nothing is heard of it. */
export function renewLease({ actor, context }: QueueOwner, id: string): Statement {
  return {
    sql: "UPDATE search_work SET lease_ms = ? WHERE actor = ? AND id = ? AND lease_ms > 0",
    params: [context.steady() + LONG_LEASE_MS, actor, id],
  };
}

/**
 * Returns the statement that does {@link renewLease} for work that has come further: this is the first attempt at what
 * comes now.
 */
export function noteStep({ actor, context }: QueueOwner, id: string): Statement {
  return {
    sql: "UPDATE search_work SET lease_ms = ?, attempts = 1 WHERE actor = ? AND id = ? AND lease_ms > 0",
    params: [context.steady() + LONG_LEASE_MS, actor, id],
  };
}

/** Whether nothing has taken the place of this work. */
export async function isCurrent(
  { actor, context }: QueueOwner,
  { id, token }: Work,
): Promise<boolean> {
  const [row] = await context.sql.all("SELECT token FROM search_work WHERE actor = ? AND id = ?", [
    actor,
    id,
  ]);
  return row?.["token"] === token;
}

/** Leases up to `most` pieces of due work that are not leased; the attempt is counted before it begins. */
export async function claim(
  { actor, context }: QueueOwner,
  most: number,
  kind: "pictures" | "others",
): Promise<Work[]> {
  if (most <= 0) return [];
  const now = context.steady();
  const rows = await context.sql.all(
    `SELECT id, stage, revision, token, trace, attempts FROM search_work
      WHERE actor = ? AND due_ms <= ? AND lease_ms <= ? AND stage ${kind === "pictures" ? "=" : "<>"} 'pictures'
      ORDER BY due_ms, id LIMIT ?`,
    [actor, now, now, most],
  );
  if (rows.length === 0) return [];
  await context.sql.batch(
    rows.map((row) => ({
      sql: "UPDATE search_work SET lease_ms = ?, attempts = attempts + 1 WHERE actor = ? AND id = ? AND token = ?",
      params: [now + LEASE_MS, actor, column(row, "id"), column(row, "token")],
    })),
  );
  return rows.map(toWork);
}

function column(row: SqlRow, name: string): SqlValue {
  return row[name] ?? null;
}

const stages: readonly Stage[] = ["text", "pictures", "vectors", "job", "schedule"];

function toWork(row: SqlRow): Work {
  const stage = String(row["stage"]);
  return {
    id: String(row["id"]),
    stage: stages.find((one) => one === stage) ?? "text",
    revision: Number(row["revision"]),
    attempts: Number(row["attempts"]) + 1,
    token: String(row["token"]),
    trace: row["trace"] == null ? null : String(row["trace"]),
  };
}

/** Returns when the earliest work is due (of `steady()`); null for an empty queue. */
export async function earliestDue({ actor, context }: QueueOwner): Promise<number | null> {
  const [row] = await context.sql.all(
    "SELECT MIN(due_ms) AS due FROM search_work WHERE actor = ?",
    [actor],
  );
  return row?.["due"] == null ? null : Number(row["due"]);
}

/** Returns when the first lease on work that is due ends (of `steady()`); null when none is leased. */
export async function earliestLease({ actor, context }: QueueOwner): Promise<number | null> {
  const [row] = await context.sql.all(
    "SELECT MIN(lease_ms) AS lease FROM search_work WHERE actor = ? AND due_ms <= ? AND lease_ms > ?",
    [actor, context.steady(), context.steady()],
  );
  return row?.["lease"] == null ? null : Number(row["lease"]);
}

/** Ends all leases: their holders died with the former life of this actor, of which there is one at a time. */
export async function endLeases({ actor, context }: QueueOwner): Promise<void> {
  const [row] = await context.sql.all(
    "SELECT COUNT(*) AS n FROM search_work WHERE actor = ? AND lease_ms > 0",
    [actor],
  );
  if (Number(row?.["n"] ?? 0) === 0) return;
  await context.sql.batch([
    { sql: "UPDATE search_work SET lease_ms = 0 WHERE actor = ?", params: [actor] },
  ]);
}
