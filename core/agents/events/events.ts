import { checkNumber } from "../../http/fields/bounded-number.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { EVENT_COLUMNS, type EventRecord } from "../../entity/event.ts";
import type { ActorContext, Sql, SqlRow } from "../../ports.ts";
import { startSlots, WAITING_LIMIT } from "../turns/slots.ts";

/** Most events of one answer. */
const LIMIT_MAX = 1000;
const LIMIT_DEFAULT = 20;
/** Events that one statement looks through: about three milliseconds. */
const SLICE = 2000;

/**
 * SQL for the position of the newest event ever stored of the entity row `e`. The row is written only when retention
 * deletes; at other times the newest stored event has the position.
 */
export const LAST_SEQ: string = `COALESCE((SELECT n.seq FROM agents_events n
  WHERE n.agent = e.agent AND n.seq > e.last_seq ORDER BY n.seq DESC LIMIT 1), e.last_seq)`;

/** An event with its position. */
export type NumberedEvent = { readonly seq: number; readonly event: EventRecord };

/** Checks a limit from a caller: 20 by default, clamped to 0…1000, 400 for anything but a number. */
export function clampLimit(limit: unknown): number {
  if (limit === undefined || limit === null) return LIMIT_DEFAULT;
  if (typeof limit !== "number" || Number.isNaN(limit)) {
    throw invalidRequest("limit must be a number");
  }
  return Math.min(LIMIT_MAX, Math.max(0, Math.trunc(limit)));
}

/** A filter for events as a caller sent it, unchecked. */
export interface EventFilter {
  readonly limit?: unknown;
  readonly type?: unknown;
  readonly since?: number;
  /** Only events before this position. */
  readonly before?: number;
  /** Only events of this source. */
  readonly source?: string;
}

/**
 * Reads the events stored last, newest first, each with exactly the nine fields of an event. The order within the
 * answer is by time; which ones it holds is decided by position, so a clock that jumped hides nothing.
 */
export type EventReader = (filter: EventFilter) => Promise<EventRecord[]>;

/** The events of {@link EventReader} by position, each with it (`seq`) and its source beside the nine fields. */
export type EventLister = (filter: EventFilter) => Promise<SqlRow[]>;

export function eventReader(list: EventLister): EventReader {
  return async (filter) =>
    (await list(filter)).map(toRecord).toSorted((a, b) => compareText(b.timestamp, a.timestamp));
}

export function eventLister({ sql, system }: ActorContext, agent: string): EventLister {
  // Rare events are searched for among all events, by one reader at a time and in slices.
  const searches = startSlots(1, WAITING_LIMIT);
  const select = `SELECT seq, provider AS source, ${EVENT_COLUMNS.join(", ")} FROM agents_events
    WHERE agent = ? AND seq > ? AND seq < ?`;

  async function search(wanted: readonly Wanted[], range: Range, limit: number): Promise<SqlRow[]> {
    const found: SqlRow[] = [];
    const where = wanted.map(([column]) => `AND ${column} = ?`).join(" ");
    const values = wanted.map(([, value]) => value);
    for (let { before } = range; ;) {
      const [slice] = await sql.all(
        `SELECT MIN(s.seq) AS first FROM (SELECT seq FROM agents_events
          WHERE agent = ? AND seq > ? AND seq < ? ORDER BY seq DESC LIMIT ?) AS s`,
        [agent, range.since, before, SLICE],
      );
      if (slice?.["first"] == null) return found;
      const first = Number(slice["first"]);
      const rows = await sql.all(`${select} ${where} ORDER BY seq DESC LIMIT ?`, [
        agent,
        first - 1,
        before,
        ...values,
        limit - found.length,
      ]);
      found.push(...rows);
      if (found.length >= limit) return found;
      before = first;
      // Lets the rest of this process have its turn.
      await system.sleep(0);
    }
  }

  return async ({ before = Number.MAX_SAFE_INTEGER, limit, since = 0, source, type }) => {
    if (type !== undefined && typeof type !== "string") {
      throw invalidRequest("type must be a string");
    }
    const count = clampLimit(limit);
    const range = { since: position("since", since), before: position("before", before) };
    const all: readonly (readonly [string, string | undefined])[] = [
      ["type", type],
      ["provider", source],
    ];
    const wanted = all.flatMap(([column, value]): Wanted[] =>
      value === undefined ? [] : [[column, value]],
    );
    return wanted.length === 0
      ? sql.all(`${select} ORDER BY seq DESC LIMIT ?`, [agent, range.since, before, count])
      : searches(() => search(wanted, range, count));
  };
}

/** The position that a caller gave, as the whole number that the table holds. */
function position(field: string, value: unknown): number {
  const range = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
  return Math.trunc(checkNumber(field, value, range));
}

/** A column and the value that it must have. */
type Wanted = readonly [column: string, value: string];

interface Range {
  readonly since: number;
  readonly before: number;
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

/** The event stored last; null before the first, and where none is kept. */
export async function newestEvent(sql: Sql, agent: string): Promise<NumberedEvent | null> {
  const [row] = await sql.all(
    `SELECT seq, ${EVENT_COLUMNS.join(", ")} FROM agents_events WHERE agent = ? ORDER BY seq DESC LIMIT 1`,
    [agent],
  );
  return row === undefined ? null : { seq: Number(row["seq"]), event: toRecord(row) };
}

/**
 * The positions of the oldest kept event and of the newest ever stored; `oldest` is past `last` when no event is kept.
 */
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
