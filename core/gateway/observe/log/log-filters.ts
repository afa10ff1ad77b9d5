import { choiceHint } from "../../../text/nearest.ts";
import { invalidRequest } from "../../../http/api-error.ts";

export type FilterOperator = "eq" | "neq" | "contains" | "lt" | "gt";

/** One condition on log rows; a row fits when it matches one of the values (`neq`: when it matches none). */
export type LogFilter = {
  key: string;
  operator: FilterOperator;
  value: (string | number | boolean | null)[];
};

export type LogQuery = {
  filters: LogFilter[];
  orderBy: string;
  descending: boolean;
  search: string;
};

type Kind = "text" | "number" | "boolean" | "time";

const keys: Readonly<Record<string, Kind>> = {
  id: "text",
  created_at: "time",
  request_content_type: "text",
  response_content_type: "text",
  request_type: "text",
  success: "boolean",
  cached: "boolean",
  provider: "text",
  model: "text",
  model_type: "text",
  cost: "number",
  tokens: "number",
  tokens_in: "number",
  tokens_out: "number",
  duration: "number",
  first_byte: "number",
  feedback: "number",
  event_id: "text",
  "metadata.key": "text",
  "metadata.value": "text",
  authentication: "boolean",
  wholesale: "boolean",
  compatibilityMode: "boolean",
  dlp_action: "text",
  user_agent: "text",
  caller: "text",
  dropped: "text",
  note: "text",
};

const orders: ReadonlySet<string> = new Set([
  "created_at",
  "provider",
  "model",
  "model_type",
  "success",
  "cached",
  "cost",
  "tokens_in",
  "tokens_out",
  "duration",
  "first_byte",
  "feedback",
]);

/** Deprecated flat parameters that clients still send, as the filter each stands for. */
const flat: Readonly<
  Record<string, readonly [key: string, operator: FilterOperator | "min" | "max"]>
> = {
  cached: ["cached", "eq"],
  success: ["success", "eq"],
  feedback: ["feedback", "eq"],
  model: ["model", "eq"],
  model_type: ["model_type", "eq"],
  provider: ["provider", "eq"],
  request_content_type: ["request_content_type", "eq"],
  response_content_type: ["response_content_type", "eq"],
  start_date: ["created_at", "min"],
  end_date: ["created_at", "max"],
  min_cost: ["cost", "min"],
  max_cost: ["cost", "max"],
  min_duration: ["duration", "min"],
  max_duration: ["duration", "max"],
  min_tokens_in: ["tokens_in", "min"],
  max_tokens_in: ["tokens_in", "max"],
  min_tokens_out: ["tokens_out", "min"],
  max_tokens_out: ["tokens_out", "max"],
  min_total_tokens: ["tokens", "min"],
  max_total_tokens: ["tokens", "max"],
};

/** Every parameter that a log listing reads, but for the filters, see {@link isFilterPart}. */
export const logParameters: readonly string[] = [
  ...Object.keys(flat),
  "order_by",
  "order_by_direction",
  "direction",
  "search",
  "filters.key",
  "filters.operator",
  "filters.value",
];

const FILTER_PART = /^filters(?:\[\d*\])?[.[](key|operator|value)\]?(?:\[\d*\])?$/;

/** Whether a parameter is a part of a filter, in any of the spellings that clients send. */
export function isFilterPart(name: string): boolean {
  return FILTER_PART.test(name);
}

const FILTER_LIMIT = 32;
const VALUE_LIMIT = 100;

/**
 * Reads the query of a log listing. The official client writes filters as repeated dotted keys whose
 * ORDER carries the meaning: each `filters.key` opens a new filter, so parameters must not be grouped.
 */
export function parseLogQuery(search: string): LogQuery {
  const query: LogQuery = { filters: [], orderBy: "created_at", descending: true, search: "" };
  let current: { key: string; operator: string; values: string[] } | null = null;
  const close = (): void => {
    if (current !== null) query.filters.push(filter(current));
    if (query.filters.length > FILTER_LIMIT)
      throw invalidRequest(`At most ${FILTER_LIMIT} filters are allowed`);
    current = null;
  };
  for (const [name, value] of new URLSearchParams(search)) {
    const dotted = FILTER_PART.exec(name)?.[1];
    if (dotted === "key") {
      close();
      current = { key: value, operator: "eq", values: [] };
    } else if (dotted !== undefined) {
      if (current === null) throw invalidRequest(`"${name}" must come after "filters.key"`);
      if (dotted === "operator") current.operator = value;
      else if (current.values.push(value) > VALUE_LIMIT) {
        throw invalidRequest(`A filter takes at most ${VALUE_LIMIT} values`);
      }
    } else plain(query, name, value);
  }
  close();
  return query;
}

function plain(query: LogQuery, name: string, value: string): void {
  if (name === "order_by") {
    if (!orders.has(value)) {
      const shown = value.slice(0, 64);
      throw invalidRequest(`order_by: unknown column "${shown}"${choiceHint(shown, [...orders])}`);
    }
    query.orderBy = value;
  } else if (name === "order_by_direction" || name === "direction") {
    if (value !== "asc" && value !== "desc")
      throw invalidRequest(`${name}: expected "asc" or "desc"`);
    query.descending = value === "desc";
  } else if (name === "search") query.search = value.slice(0, 256);
  else if (Object.hasOwn(flat, name) && value !== "") query.filters.push(flatFilter(name, value));
}

function flatFilter(name: string, text: string): LogFilter {
  const [key, operator] = flat[name] ?? ["", "eq"];
  const value = coerce(key, text);
  if (operator !== "min" && operator !== "max") return { key, operator, value: [value] };
  // Bounds include their value, the operators do not: step over it.
  const step = keys[key] === "number" ? 1e-9 : 1;
  const bound = typeof value === "number" ? value : 0;
  return operator === "min"
    ? { key, operator: "gt", value: [bound - step] }
    : { key, operator: "lt", value: [bound + step] };
}

function filter(raw: { key: string; operator: string; values: string[] }): LogFilter {
  if (!Object.hasOwn(keys, raw.key))
    throw invalidRequest(`Unknown filter key "${raw.key.slice(0, 64)}"`);
  const { operator } = raw;
  if (!isOperator(operator))
    throw invalidRequest(`Unknown filter operator "${operator.slice(0, 64)}"`);
  return { key: raw.key, operator, value: raw.values.map((value) => coerce(raw.key, value)) };
}

function isOperator(text: string): text is FilterOperator {
  return ["eq", "neq", "contains", "lt", "gt"].includes(text);
}

/** An empty value is the client's form of `null`. */
function coerce(key: string, value: string): string | number | boolean | null {
  if (value === "") return null;
  const kind = keys[key];
  if (kind === "boolean") {
    if (value === "true" || value === "1") return true;
    if (value === "false" || value === "0") return false;
    throw invalidRequest(
      `Filter "${key}": expected "true" or "false", got "${value.slice(0, 64)}"`,
    );
  }
  if (kind === "text") return value;
  const number =
    kind === "time" ? (/^\d+$/.test(value) ? Number(value) : Date.parse(value)) : Number(value);
  if (!Number.isFinite(number)) {
    throw invalidRequest(`Filter "${key}": expected a ${kind}, got "${value.slice(0, 64)}"`);
  }
  return number;
}
