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

/** The alarms that this process has to look after. */
export interface AlarmTable {
  earliest(kind: string, limit: number): Promise<AlarmRow[]>;
  /** Sets the alarm of an actor. */
  upsert(kind: string, actor: string, at: number): Statement;
  /** Whether the alarm may ring: it was neither set again nor cleared since it was read. */
  isDue(sql: Sql, row: AlarmRow): Promise<boolean>;
}

/** The query of alarms, without its condition. */
export const COLUMNS = "SELECT kind, actor, at, attempts, version FROM causey_alarms";
/** The condition for an alarm that was neither set again nor cleared. */
export const SAME = "WHERE kind = ? AND actor = ? AND version = ?";

/** Makes the table of a process that has all actors. */
export function alarmTable(all: Pick<Sql, "all">): AlarmTable {
  return {
    async earliest(kind, limit) {
      const rows = await all.all(`${COLUMNS} WHERE kind = ? ORDER BY at LIMIT ?`, [kind, limit]);
      return rows.map(toAlarmRow);
    },
    upsert: (kind, actor, at) => ({
      sql: `INSERT INTO causey_alarms (kind, actor, at, attempts, version) VALUES (?, ?, ?, 0, ?)
        ON CONFLICT (kind, actor) DO UPDATE SET at = excluded.at, attempts = 0, version = excluded.version`,
      params: [kind, actor, at, newVersion()],
    }),
    isDue: async (sql, row) => (await sql.all(`${COLUMNS} ${SAME}`, sameAs(row))).length > 0,
  };
}

/** Returns a version that no earlier alarm of the actor had. */
export function newVersion(): number {
  return Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
}

/** Makes all alarms of these kinds, one or more, go off at `at`, unless they are due earlier. */
export function advance(kinds: readonly string[], at: number): Statement {
  const places = kinds.map(() => "?").join(", ");
  return {
    sql: `UPDATE causey_alarms SET at = ? WHERE at > ? AND kind IN (${places})`,
    params: [at, at, ...kinds],
  };
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

export function clear(kind: string, actor: string): Statement {
  return { sql: "DELETE FROM causey_alarms WHERE kind = ? AND actor = ?", params: [kind, actor] };
}

/** Returns the parameters of {@link SAME}. */
export function sameAs(row: AlarmRow): [string, string, number] {
  return [row.kind, row.actor, row.version];
}

/** Makes an alarm of a row with {@link COLUMNS}. */
export function toAlarmRow(row: Readonly<Record<string, unknown>>): AlarmRow {
  return {
    kind: String(row["kind"]),
    actor: String(row["actor"]),
    at: Number(row["at"]),
    attempts: Number(row["attempts"]),
    version: Number(row["version"]),
  };
}
