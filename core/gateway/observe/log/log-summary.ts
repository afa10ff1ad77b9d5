import type { Sql, SqlRow, SqlValue } from "../../../ports.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { LogQuery } from "./log-filters.ts";
import { whereLogs } from "./log-sql.ts";

/** Figures over a set of log rows. */
export type LogSummary = {
  readonly total: number;
  /** Average US dollars over the `costed` rows; null without any. */
  readonly cost: number | null;
  readonly costed: number;
  /** Average milliseconds over the `timed` rows, the successful ones that no cache answered. */
  readonly duration: number | null;
  readonly timed: number;
  readonly rated: number;
  /** Rated rows with positive feedback. */
  readonly liked: number;
};

/** Durable Object storage binds at most 100 values per statement. */
const PARAMETERS = 100;

/** Sums up the rows of a gateway's log that any of the queries finds, each row once. */
export async function summariseLogs(
  sql: Sql,
  actor: string,
  queries: readonly LogQuery[],
): Promise<LogSummary> {
  const wheres = queries.map((query) => whereLogs(actor, query));
  const params: SqlValue[] = [actor, ...wheres.flatMap((where) => where.params)];
  if (params.length > PARAMETERS) {
    throw new ApiError("invalid_request", {
      message: "The datasets have too many filter values together",
    });
  }
  const any = wheres.map((where) => `(${where.sql})`).join(" OR ");
  const [row] = await sql.all(
    `SELECT COUNT(*) AS total, AVG(cost) AS cost, COUNT(cost) AS costed,
      AVG(CASE WHEN success = 1 AND cached = 0 THEN duration END) AS duration,
      COUNT(CASE WHEN success = 1 AND cached = 0 THEN 1 END) AS timed,
      COUNT(feedback) AS rated, COUNT(CASE WHEN feedback > 0 THEN 1 END) AS liked
      FROM gateway_logs WHERE actor = ? AND (${any})`,
    params,
  );
  return summaryOf(row ?? {});
}

function summaryOf(row: SqlRow): LogSummary {
  const average = (name: string): number | null => (row[name] == null ? null : Number(row[name]));
  const count = (name: string): number => Number(row[name] ?? 0);
  return {
    total: count("total"),
    cost: average("cost"),
    costed: count("costed"),
    duration: average("duration"),
    timed: count("timed"),
    rated: count("rated"),
    liked: count("liked"),
  };
}
