import type { Sql, Statement } from "../../../core/ports.ts";

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
export async function earliest(
  sql: Pick<Sql, "all">,
  kind: string,
  limit: number,
): Promise<AlarmRow[]> {
  const rows = await sql.all(`${COLUMNS} WHERE kind = ? ORDER BY at LIMIT ?`, [kind, limit]);
  return rows.map(toRow);
}

/** Makes all alarms of these kinds, one or more, go off at `at`, unless they are due earlier. */
export function advance(kinds: readonly string[], at: number): Statement {
  const places = kinds.map(() => "?").join(", ");
  return {
    sql: `UPDATE causey_alarms SET at = ? WHERE at > ? AND kind IN (${places})`,
    params: [at, at, ...kinds],
  };
}

/** Whether the alarm was neither set again nor cleared since it was read. */
export async function isUnchanged(sql: Pick<Sql, "all">, row: AlarmRow): Promise<boolean> {
  return (await sql.all(`${COLUMNS} ${SAME}`, sameAs(row))).length > 0;
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
