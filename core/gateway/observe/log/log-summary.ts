import type { Sql, SqlValue } from "../../../ports.ts";
import { invalidRequest } from "../../../http/api-error.ts";
import type { LogQuery } from "./log-filters.ts";
import { whereLogs } from "./log-sql.ts";

/** The figures of a summary over a log's rows, as SQL that is null for rows without the figure. */
const figures = {
  /** US dollars. */
  cost: "cost",
  /** Milliseconds of the successful ones that no cache answered. */
  speed: "CASE WHEN success = 1 AND cached = 0 THEN duration END",
  /** Percent of the rated ones whose feedback is positive. */
  feedback: "CASE WHEN feedback > 0 THEN 100.0 WHEN feedback IS NOT NULL THEN 0.0 END",
} as const;

export type LogFigure = keyof typeof figures;

/** The number of log rows, and each figure over those that have it. */
export type LogSummary = {
  readonly total: number;
  /** `average` is null without any such row. */
  readonly figures: Readonly<
    Record<LogFigure, { readonly average: number | null; readonly rows: number }>
  >;
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
    throw invalidRequest("The datasets have too many filter values together");
  }
  const any = wheres.map((where) => `(${where.sql})`).join(" OR ");
  const columns = Object.entries(figures).map(
    ([name, value]) => `, AVG(${value}) AS ${name}, COUNT(${value}) AS ${name}_rows`,
  );
  const [row = {}] = await sql.all(
    `SELECT COUNT(*) AS total${columns.join("")} FROM gateway_logs WHERE actor = ? AND (${any})`,
    params,
  );
  const figure = (name: LogFigure): LogSummary["figures"][LogFigure] => ({
    average: row[name] == null ? null : Number(row[name]),
    rows: Number(row[`${name}_rows`] ?? 0),
  });
  return {
    total: Number(row["total"] ?? 0),
    figures: { cost: figure("cost"), speed: figure("speed"), feedback: figure("feedback") },
  };
}
