import type { ActorContext, Sql, SqlRow, Statement } from "../../../ports.ts";
import type { LogQuery } from "./log-filters.ts";
import type { LogRow } from "../../call/ended-attempt.ts";
import { insertLogs, orderLogs, whereLogs } from "./log-sql.ts";
import { type LogSummary, summariseLogs } from "./log-summary.ts";
import { logTail, type TailPage } from "./log-tail.ts";
import { DEFAULT_LOG_ROWS, type GatewaySettings } from "../../account/settings/settings.ts";

export type LogPage = { rows: SqlRow[]; total: number };

/** The fields of a stored row that a client may change; `undefined` leaves a field as it is. */
export type LogPatch = {
  feedback?: number | null | undefined;
  score?: number | null | undefined;
  metadata?: string | null | undefined;
};

/** Rows that one call deletes, so that a deletion never holds the actor for long. */
export const DELETE_LIMIT = 10_000;
/** Rows beyond a lowered limit that go with each batch, so that it never holds the actor for long. */
const CATCH_UP = 1000;
/** Durable Object storage binds at most 100 values per statement. */
const PARAMETERS = 90;

export interface GatewayLogMethods {
  /** Stores rows; what exceeds the gateway's limit is dropped or pushes out the oldest, by its strategy. */
  append(rows: readonly LogRow[]): Promise<void>;
  listLogs(query: LogQuery, offset: number, limit: number): Promise<LogPage>;
  getLog(id: string): Promise<SqlRow | null>;
  /** Resolves to whether there is such a row. */
  patchLog(id: string, patch: LogPatch): Promise<boolean>;
  /** Figures over the rows that any of the queries finds. */
  summariseLogs(queries: readonly LogQuery[]): Promise<LogSummary>;
  /** Rows stored after a position of the live tail, see `LogTail`. */
  nextLogs(position: number, query: LogQuery, waitMs: number): Promise<TailPage>;
  /** Deletes what the query finds, at most `limit` rows and at most 10,000; resolves to their number. */
  deleteLogs(query: LogQuery, limit: number): Promise<number>;
}

export interface GatewayLog {
  readonly methods: GatewayLogMethods;
  /** Drops what is in memory, after the rows were deleted elsewhere. */
  forget(): void;
}

/** Opens the log of one gateway; rows that arrive after the gateway was deleted are dropped. */
export async function gatewayLog(
  { name: actor, sql, system }: ActorContext,
  settings: () => GatewaySettings | null,
): Promise<GatewayLog> {
  let count = await countRows(sql, actor);
  let last = await lastNumber(sql, actor, system.now());
  const tail = logTail({ actor, sql, system, last: () => last });
  const methods: GatewayLogMethods = {
    async append(rows) {
      const { log_management: maximum, log_management_strategy: strategy } = settings() ?? {};
      if (maximum === undefined) return;
      const limit = maximum ?? DEFAULT_LOG_ROWS;
      const stops = strategy === "STOP_INSERTING";
      const kept = stops ? rows.slice(0, Math.max(0, limit - count)) : rows;
      const statements = insertLogs(actor, kept, last + 1);
      const over = stops ? 0 : count + kept.length - limit;
      const excess = Math.min(over, kept.length + CATCH_UP);
      if (excess > 0) statements.push(...deleteOldest(actor, excess));
      if (statements.length === 0) return;
      // A power cut may cost rows, as a killed process does: no client was promised that they are stored.
      const results = await sql.batch(statements, { lazy: true });
      last += kept.length;
      tail.stored();
      const stored = results.slice(0, kept.length).filter(({ changes }) => changes > 0);
      count += stored.length - (excess > 0 ? (results.at(-1)?.changes ?? 0) : 0);
    },
    async deleteLogs(query, limit) {
      const where = whereLogs(actor, query);
      const found = await sql.all(
        `SELECT id FROM gateway_logs WHERE ${where.sql} ${orderLogs(query)} LIMIT ?`,
        [...where.params, Math.min(limit, DELETE_LIMIT)],
      );
      const ids = found.map((row) => String(row["id"]));
      for (let at = 0; at < ids.length; at += PARAMETERS) {
        await sql.batch(deleteIds(actor, ids.slice(at, at + PARAMETERS)));
      }
      count = await countRows(sql, actor);
      return ids.length;
    },
    summariseLogs: (queries) => summariseLogs(sql, actor, queries),
    nextLogs: (position, query, waitMs) => tail.next(position, query, waitMs),
    ...readMethods(actor, sql),
  };
  return {
    methods,
    forget() {
      count = 0;
    },
  };
}

function readMethods(
  actor: string,
  sql: Sql,
): Pick<GatewayLogMethods, "listLogs" | "getLog" | "patchLog"> {
  return {
    async listLogs(query, offset, limit) {
      const where = whereLogs(actor, query);
      const [total] = await sql.all(
        `SELECT COUNT(*) AS n FROM gateway_logs WHERE ${where.sql}`,
        where.params,
      );
      const rows = await sql.all(
        `SELECT * FROM gateway_logs WHERE ${where.sql} ${orderLogs(query)} LIMIT ? OFFSET ?`,
        [...where.params, limit, offset],
      );
      return { rows, total: Number(total?.["n"] ?? 0) };
    },
    async getLog(id) {
      const [row] = await sql.all(
        `SELECT * FROM gateway_logs JOIN gateway_log_bodies USING (actor, id) WHERE actor = ? AND id = ?`,
        [actor, id],
      );
      return row ?? null;
    },
    async patchLog(id, patch) {
      const { feedback, score, metadata } = patch;
      const given = Object.entries({ feedback, score, metadata }).filter(
        ([, value]) => value !== undefined,
      );
      const sets = ["id = id", ...given.map(([column]) => `${column} = ?`)];
      const [result] = await sql.batch([
        {
          sql: `UPDATE gateway_logs SET ${sets.join(", ")} WHERE actor = ? AND id = ?`,
          params: [...given.map(([, value]) => value ?? null), actor, id],
        },
      ]);
      return (result?.changes ?? 0) > 0;
    },
  };
}

async function countRows(sql: Sql, actor: string): Promise<number> {
  const [row] = await sql.all("SELECT COUNT(*) AS n FROM gateway_logs WHERE actor = ?", [actor]);
  return Number(row?.["n"] ?? 0);
}

/**
 * Returns the number of the row stored last. Never less than the time at the actor's start, so that no number comes twice,
 * even when the newest rows were deleted. A follower would take a repeated number for a row that it has seen.
 */
async function lastNumber(sql: Sql, actor: string, now: number): Promise<number> {
  const [row] = await sql.all("SELECT MAX(seq) AS n FROM gateway_logs WHERE actor = ?", [actor]);
  return Math.max(Number(row?.["n"] ?? 0), now);
}

function deleteIds(actor: string, ids: readonly string[]): Statement[] {
  const list = ids.map(() => "?").join(", ");
  return ["gateway_logs", "gateway_log_bodies"].map((table) => ({
    sql: `DELETE FROM ${table} WHERE actor = ? AND id IN (${list})`,
    params: [actor, ...ids],
  }));
}

/** Ids sort by time, so the oldest rows are the smallest ids. The rows go last: they tell which bodies go. */
function deleteOldest(actor: string, excess: number): Statement[] {
  return ["gateway_log_bodies", "gateway_logs"].map((table) => ({
    sql: `DELETE FROM ${table} WHERE actor = ? AND id <=
      (SELECT id FROM gateway_logs WHERE actor = ? ORDER BY id LIMIT 1 OFFSET ?)`,
    params: [actor, actor, excess - 1],
  }));
}
