import { invalidRequest } from "../../../http/api-error.ts";
import type { SqlValue, Statement } from "../../../ports.ts";
import type { LogFilter, LogQuery } from "./log-filters.ts";
import type { LogRow } from "../../call/ended-attempt.ts";
import { contains, joinConditions } from "../../../sql/sql-text.ts";

/** The tables of a gateway's log: rows to filter by, and bodies apart from them so that a scan stays small. */
export const logSchema: readonly string[] = [
  `CREATE TABLE gateway_logs (
    actor TEXT NOT NULL, id TEXT NOT NULL, created_at BIGINT NOT NULL,
    provider TEXT NOT NULL, model TEXT NOT NULL, path TEXT NOT NULL,
    status_code INTEGER, success INTEGER NOT NULL, cached INTEGER NOT NULL, duration INTEGER NOT NULL,
    tokens_in INTEGER, tokens_out INTEGER, cost DOUBLE PRECISION, custom_cost INTEGER NOT NULL,
    metadata TEXT, model_type TEXT, request_type TEXT, request_content_type TEXT,
    response_content_type TEXT, step INTEGER NOT NULL, event_id TEXT, user_agent TEXT,
    authentication INTEGER NOT NULL, feedback DOUBLE PRECISION, score DOUBLE PRECISION,
    PRIMARY KEY (actor, id))`,
  `CREATE TABLE gateway_log_bodies (
    actor TEXT NOT NULL, id TEXT NOT NULL,
    request TEXT, request_size BIGINT NOT NULL, request_complete INTEGER NOT NULL,
    response TEXT, response_size BIGINT NOT NULL, response_complete INTEGER NOT NULL,
    PRIMARY KEY (actor, id))`,
];

/** The order in which rows were stored, which is not that of their ids: a long answer is stored late. */
export const logSequenceSchema: readonly string[] = [
  `ALTER TABLE gateway_logs ADD COLUMN seq BIGINT`,
  `CREATE INDEX gateway_logs_by_seq ON gateway_logs (actor, seq)`,
];

const columns = [
  "actor",
  "id",
  "created_at",
  "provider",
  "model",
  "path",
  "status_code",
  "success",
  "cached",
  "duration",
  "tokens_in",
  "tokens_out",
  "cost",
  "custom_cost",
  "metadata",
  "model_type",
  "request_type",
  "request_content_type",
  "response_content_type",
  "step",
  "event_id",
  "user_agent",
  "authentication",
  "dlp_action",
  "caller",
  "dropped",
  "note",
  "first_byte",
  "seq",
];

const insertRow = `INSERT INTO gateway_logs (${columns.join(", ")})
  VALUES (${columns.map(() => "?").join(", ")}) ON CONFLICT (actor, id) DO NOTHING`;
const insertBodies = `INSERT INTO gateway_log_bodies
  (actor, id, request, request_size, request_complete, response, response_size, response_complete)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor, id) DO NOTHING`;

/**
 * Returns the statements that store rows, all rows before all bodies: a database may make equal statements one. Numbers grow from `first` in the
 * order of storing. Storing a row twice, as after a retried flush, changes nothing.
 */
export function insertLogs(actor: string, rows: readonly LogRow[], first: number): Statement[] {
  return [
    ...rows.map((row, at) => ({ sql: insertRow, params: rowValues(actor, row, first + at) })),
    ...rows.map((row) => ({ sql: insertBodies, params: bodyValues(actor, row) })),
  ];
}

function rowValues(actor: string, row: LogRow, seq: number): SqlValue[] {
  return [
    actor,
    row.id,
    row.createdAt,
    row.provider,
    row.model,
    row.path,
    row.statusCode,
    Number(row.success),
    Number(row.cached),
    row.duration,
    row.tokensIn,
    row.tokensOut,
    row.cost,
    Number(row.customCost),
    row.metadata,
    row.modelType,
    row.requestType,
    row.requestContentType,
    row.responseContentType,
    row.step,
    row.eventId,
    row.userAgent,
    Number(row.authentication),
    row.dlpAction,
    row.caller,
    row.dropped,
    row.note,
    row.firstByte,
    seq,
  ];
}

function bodyValues(actor: string, { id, request, response }: LogRow): SqlValue[] {
  return [
    actor,
    id,
    request.text,
    request.size,
    Number(request.complete),
    response.text,
    response.size,
    Number(response.complete),
  ];
}

/** Durable Object storage binds at most 100 values per statement; a page takes two more. */
const PARAMETERS = 90;

export interface Where {
  readonly sql: string;
  readonly params: SqlValue[];
}

/** Returns the condition of a log query; filters are joined by AND. */
export function whereLogs(actor: string, query: LogQuery): Where {
  const parts = ["actor = ?"];
  const params: SqlValue[] = [actor];
  for (const filter of query.filters) {
    const { sql, params: more } = condition(filter);
    parts.push(sql);
    params.push(...more);
  }
  if (query.search !== "") {
    const fields = ["id", "model", "provider", "path", "metadata", "event_id", "caller", "note"];
    parts.push(`(${fields.map(contains).join(" OR ")})`);
    for (const _ of fields) params.push(query.search);
  }
  if (params.length > PARAMETERS) {
    throw invalidRequest("The filters have too many values");
  }
  return { sql: joinConditions(parts, "AND"), params };
}

/** ORDER BY of a log query; the id breaks ties, so that pages neither repeat nor miss rows. */
export function orderLogs(query: LogQuery): string {
  const direction = query.descending ? "DESC" : "ASC";
  // Ids sort by time, and the primary key serves that order without a sort.
  const column = query.orderBy === "created_at" ? "" : `${query.orderBy} ${direction}, `;
  return `ORDER BY ${column}id ${direction}`;
}

function condition(filter: LogFilter): Where {
  // Without values the filter matches every row: the client writes an empty array for that.
  if (filter.value.length === 0) return { sql: "1 = 1", params: [] };
  const parts: string[] = [];
  const params: SqlValue[] = [];
  for (const value of new Set(filter.value)) {
    const one = comparison(filter, value);
    parts.push(one.sql);
    params.push(...one.params);
  }
  return { sql: `(${joinConditions(parts, filter.operator === "neq" ? "AND" : "OR")})`, params };
}

/** Filter keys without a column of their own. */
const computed: Readonly<Record<string, string>> = {
  tokens: "(COALESCE(tokens_in, 0) + COALESCE(tokens_out, 0))",
  compatibilityMode: "(COALESCE(request_type, '') = 'compat')",
  // Billing by the hosted service, which is not part of causey.
  wholesale: "0",
};

function comparison(filter: LogFilter, value: LogFilter["value"][number]): Where {
  const { key, operator } = filter;
  if (key === "metadata.key" || key === "metadata.value") return inMetadata(filter, value);
  const column = computed[key] ?? key;
  if (value === null)
    return { sql: `${column} IS ${operator === "neq" ? "NOT " : ""}NULL`, params: [] };
  const bound = typeof value === "boolean" ? Number(value) : value;
  switch (operator) {
    case "contains":
      return { sql: contains(`CAST(${column} AS TEXT)`), params: [String(bound)] };
    case "neq":
      return { sql: `(${column} <> ? OR ${column} IS NULL)`, params: [bound] };
    case "eq":
      return { sql: `${column} = ?`, params: [bound] };
    case "lt":
      return { sql: `${column} < ?`, params: [bound] };
    case "gt":
      return { sql: `${column} > ?`, params: [bound] };
  }
}

/** Metadata is JSON text of at most five flat entries; a match looks for the key or value as JSON writes it. */
function inMetadata(filter: LogFilter, value: LogFilter["value"][number]): Where {
  if (value === null) {
    return { sql: `metadata IS ${filter.operator === "neq" ? "NOT " : ""}NULL`, params: [] };
  }
  const written = JSON.stringify(String(value)).slice(1, -1);
  const isKey = filter.key === "metadata.key";
  const quoted = isKey ? [`"${written}":`] : [`:"${written}"`, `:${written},`, `:${written}}`];
  const wanted = filter.operator === "contains" ? [written] : quoted;
  const sql = wanted.map(() => contains("metadata")).join(" OR ");
  const params = wanted;
  return filter.operator === "neq"
    ? { sql: `(metadata IS NULL OR NOT (${sql}))`, params }
    : { sql: `(${sql})`, params };
}
