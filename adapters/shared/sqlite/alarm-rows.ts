import { LAST_INSTANT } from "../../../core/http/fields/bounded-number.ts";
import type { Statement } from "../../../core/ports.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** An alarm as it is stored: at most one per actor. */
export interface AlarmRow {
  readonly kind: string;
  readonly actor: string;
  /** Ms of the steady clock. */
  readonly at: number;
  readonly attempts: number;
  /** Tells an alarm set again for the same time from the one that runs. */
  readonly version: number;
}

const COLUMNS = "SELECT kind, actor, at, attempts, version FROM causey_alarms";
const SAME = "WHERE kind = ? AND actor = ? AND version = ?";

/** Returns the earliest alarms of a kind. */
export function earliest(db: SqliteDatabase, kind: string, limit: number): AlarmRow[] {
  return db.rows(`${COLUMNS} WHERE kind = ? ORDER BY at LIMIT ?`, [kind, limit]).map(toRow);
}

/**
 * Makes alarms go off at `at` whose time today's version would not store; their actors then set them again. Returns how
 * many there were.
 */
export function repair(db: SqliteDatabase, at: number): number {
  return db.rows(
    "UPDATE causey_alarms SET at = ? WHERE NOT (at BETWEEN 0 AND ?) OR typeof(at) = 'text' RETURNING kind",
    [at, LAST_INSTANT],
  ).length;
}

/** Makes all alarms of these kinds go off at `at`, unless they are due earlier. */
export function advance(db: SqliteDatabase, kinds: readonly string[], at: number): void {
  if (kinds.length === 0) return;
  const places = kinds.map(() => "?").join(", ");
  db.rows(`UPDATE causey_alarms SET at = ? WHERE at > ? AND kind IN (${places})`, [
    at,
    at,
    ...kinds,
  ]);
}

/** Whether the alarm was neither set again nor cleared since it was read. */
export async function isUnchanged(db: SqliteDatabase, row: AlarmRow): Promise<boolean> {
  return (await db.all(`${COLUMNS} ${SAME}`, sameAs(row))).length > 0;
}

/** Removes the alarm, unless it was set again. */
export function remove(row: AlarmRow): Statement {
  return { sql: `DELETE FROM causey_alarms ${SAME}`, params: sameAs(row) };
}

/** Moves the alarm to a later time after a failure, unless it was set again. */
export function retryAt(row: AlarmRow, at: number): Statement {
  const sql = `UPDATE causey_alarms SET at = ?, attempts = attempts + 1 ${SAME}`;
  return { sql, params: [at, ...sameAs(row)] };
}

/** Sets the alarm of an actor. */
export function upsert(kind: string, actor: string, at: number): Statement {
  return {
    sql: `INSERT INTO causey_alarms (kind, actor, at, attempts, version) VALUES (?, ?, ?, 0, ?)
      ON CONFLICT (kind, actor) DO UPDATE SET at = excluded.at, attempts = 0, version = excluded.version`,
    params: [kind, actor, at, Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)],
  };
}

/** Clears the alarm of an actor. */
export function clear(kind: string, actor: string): Statement {
  return { sql: "DELETE FROM causey_alarms WHERE kind = ? AND actor = ?", params: [kind, actor] };
}

function sameAs(row: AlarmRow): [string, string, number] {
  return [row.kind, row.actor, row.version];
}

function toRow(row: Readonly<Record<string, unknown>>): AlarmRow {
  return {
    kind: String(row["kind"]),
    actor: String(row["actor"]),
    at: Number(row["at"]),
    attempts: Number(row["attempts"]),
    version: Number(row["version"]),
  };
}
