import { ApiError } from "../http/api-error.ts";
import { EVENT_COLUMNS, type EventRecord } from "../entity/event.ts";
import type { Sql, SqlRow, SqlValue } from "../ports.ts";

/** Most events of one answer. */
const LIMIT_MAX = 1000;
const LIMIT_DEFAULT = 20;

/**
 * SQL for the position of the newest event ever stored of the entity row `e`. The row itself is written only when
 * retention deletes: between that, the newest stored event tells.
 */
export const LAST_SEQ: string = `COALESCE((SELECT n.seq FROM agents_events n
  WHERE n.agent = e.agent AND n.seq > e.last_seq ORDER BY n.seq DESC LIMIT 1), e.last_seq)`;

/** An event with its position. */
export type NumberedEvent = { readonly seq: number; readonly event: EventRecord };

/** A limit that came from a caller: 20 when left out, clamped to 1…1000, 400 when it is no number. */
export function clampLimit(limit: unknown): number {
  if (limit === undefined || limit === null) return LIMIT_DEFAULT;
  if (typeof limit !== "number" || Number.isNaN(limit)) {
    throw new ApiError("invalid_request", { message: "limit must be a number" });
  }
  return Math.min(LIMIT_MAX, Math.max(1, Math.trunc(limit)));
}

/**
 * The events stored last, newest first, each with exactly the nine fields of the spec. The order within the answer
 * is by time; which ones it holds is decided by position, so a clock that jumped hides nothing.
 */
export async function readEvents(
  sql: Sql,
  agent: string,
  query: { readonly limit?: unknown; readonly type?: unknown; readonly since?: number },
): Promise<EventRecord[]> {
  const { type, since } = query;
  if (type !== undefined && typeof type !== "string") {
    throw new ApiError("invalid_request", { message: "type must be a string" });
  }
  const params: SqlValue[] = [agent];
  let where = "agent = ?";
  if (type !== undefined) {
    where += " AND type = ?";
    params.push(type);
  }
  if (since !== undefined) {
    where += " AND seq > ?";
    params.push(Math.trunc(since));
  }
  const rows = await sql.all(
    `SELECT ${EVENT_COLUMNS.join(", ")} FROM agents_events WHERE ${where} ORDER BY seq DESC LIMIT ?`,
    [...params, clampLimit(query.limit)],
  );
  return rows.map(toRecord).toSorted((a, b) => compareText(b.timestamp, a.timestamp));
}

/** Sorting is stable: events of one millisecond stay newest first. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** At most `limit` events after a position, oldest first. */
export async function eventsAfter(
  sql: Sql,
  agent: string,
  since: number,
  limit: number,
): Promise<NumberedEvent[]> {
  const rows = await sql.all(
    `SELECT seq, ${EVENT_COLUMNS.join(", ")} FROM agents_events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?`,
    [agent, since, limit],
  );
  return rows.map((row) => ({ seq: Number(row["seq"]), event: toRecord(row) }));
}

/** The position of the oldest kept event and of the newest ever stored; `oldest` is past `last` when none is kept. */
export async function eventRange(
  sql: Sql,
  agent: string,
): Promise<{ oldest: number; last: number }> {
  const [row] = await sql.all(
    `SELECT ${LAST_SEQ} AS last, (SELECT MIN(v.seq) FROM agents_events v WHERE v.agent = e.agent) AS oldest
     FROM agents_entities e WHERE e.agent = ?`,
    [agent],
  );
  const last = Number(row?.["last"] ?? 0);
  return { last, oldest: row?.["oldest"] == null ? last + 1 : Number(row["oldest"]) };
}

function toRecord(row: SqlRow): EventRecord {
  return Object.fromEntries(
    EVENT_COLUMNS.map((column) => [column, row[column] ?? null]),
  ) as EventRecord;
}
