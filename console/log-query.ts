import type { ShownLog } from "../core/gateway/observe/log/log-view.ts";

/** A row, and the gateway whose log has it. */
export interface GatewayRow extends ShownLog {
  readonly gateway: string;
}

/** The filters of the log; an empty text fits all. */
export interface LogFilter {
  readonly gateway: string;
  readonly text: string;
  readonly provider: string;
  readonly model: string;
  readonly caller: string;
  readonly outcome: "" | "failed" | "succeeded" | "cached";
  readonly range: TimeRange;
  /** Local times of the range `custom`, as an input of the type `datetime-local` has them. */
  readonly from: string;
  readonly until: string;
  /** The least tokens, US dollars and milliseconds until the first byte. */
  readonly tokens: string;
  readonly cost: string;
  readonly firstByte: string;
}

/** The choices of a time range. */
export const timeRanges = {
  hour: "last hour",
  day: "last 24 hours",
  yesterday: "yesterday",
  week: "last 7 days",
  month: "last 30 days",
  all: "any time",
  custom: "from … to …",
} as const;

/** The name of a time range. */
export type TimeRange = keyof typeof timeRanges;

/** The filter that finds all. */
export const noFilter: LogFilter = {
  gateway: "",
  text: "",
  provider: "",
  model: "",
  caller: "",
  outcome: "",
  range: "all",
  from: "",
  until: "",
  tokens: "",
  cost: "",
  firstByte: "",
};

const HOUR = 3_600_000;
const lengths: { readonly [Range in TimeRange]?: number } = {
  hour: HOUR,
  day: 24 * HOUR,
  week: 7 * 24 * HOUR,
  month: 30 * 24 * HOUR,
};

/** The first ms of a range and the one behind it; null leaves that end open. */
function boundsOf({ range, from, until }: LogFilter, now: number): (number | null)[] {
  const length = lengths[range];
  if (length !== undefined) return [now - length, null];
  if (range === "yesterday") {
    const today = new Date(now).setHours(0, 0, 0, 0);
    return [new Date(today - HOUR).setHours(0, 0, 0, 0), today];
  }
  const instantOf = (text: string): number | null => {
    const at = text === "" ? Number.NaN : new Date(text).getTime();
    return Number.isNaN(at) ? null : at;
  };
  return range === "custom" ? [instantOf(from), instantOf(until)] : [null, null];
}

/**
 * The query of a listing. `models` are the names that are known: another text is looked for within the names. The API
 * reads the parts of a filter in their order.
 */
export function logQuery(
  filter: LogFilter,
  now: number,
  models: readonly string[] = [],
): URLSearchParams {
  const query = new URLSearchParams();
  const add = (key: string, operator: string, value: string | number | null): void => {
    if (value === "" || value === null) return;
    query.append("filters.key", key);
    query.append("filters.operator", operator);
    query.append("filters.value", String(value));
  };
  const [since, until] = boundsOf(filter, now);
  // The operators leave their value out.
  add("created_at", "gt", since == null ? null : since - 1);
  add("created_at", "lt", until ?? null);
  add("provider", "eq", filter.provider);
  add("model", models.includes(filter.model) ? "eq" : "contains", filter.model);
  add("caller", "eq", filter.caller);
  if (filter.outcome === "cached") add("cached", "eq", "true");
  else if (filter.outcome !== "") add("success", "eq", String(filter.outcome === "succeeded"));
  const least = (key: string, text: string, step: number): void => {
    if (text !== "" && Number.isFinite(Number(text))) add(key, "gt", Number(text) - step);
  };
  least("tokens", filter.tokens, 1);
  least("cost", filter.cost, 1e-12);
  least("first_byte", filter.firstByte, 1);
  if (filter.text.trim() !== "") query.set("search", filter.text.trim());
  return query;
}

/** The rows as CSV (RFC 4180), with a line of names. */
export function csvOf(rows: readonly GatewayRow[]): string {
  const lines = rows.map((row) => csvNames.map((name) => csvCell(row[name])).join(","));
  return [csvNames.join(","), ...lines, ""].join("\r\n");
}

const csvNames = [
  "id",
  "created_at",
  "gateway",
  "provider",
  "model",
  "path",
  "status_code",
  "success",
  "cached",
  "tokens_in",
  "tokens_out",
  "cost",
  "caller",
  "first_byte",
  "duration",
  "step",
  "event_id",
  "user_agent",
  "metadata",
  "dropped",
  "note",
  "dlp_action",
] as const satisfies readonly (keyof GatewayRow)[];

/** Callers choose some of these texts: a spreadsheet must not take one for a formula. */
function csvCell(value: string | number | boolean | null | undefined): string {
  if (value == null) return "";
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
