import type { FinishedSpan, TraceContext } from "../../trace/trace-context.ts";
import type { Log } from "../../ports.ts";
import type { RequestRow } from "../requests/request-row.ts";
import { labelsOf, type RequestTotals, secondBounds } from "../requests/request-totals.ts";

/** A value in OTLP's JSON form. */
type Value = string | number | boolean | null | undefined;
/** A record in OTLP's JSON form (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
export type OtlpRecord = Readonly<Record<string, unknown>>;

/** The place of a span in its trace. */
export interface OtlpSpanPlace extends TraceContext {
  readonly parentSpanId: string | null;
}

/** Makes attributes; null and undefined values are left out. */
export function attributes(facts: Readonly<Record<string, Value>>): OtlpRecord[] {
  return Object.entries(facts).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: string | number | boolean): OtlpRecord {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Unix ms as the nanoseconds that OTLP takes, exact to the microsecond. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.round((ms - whole) * 1e6)).padStart(6, "0")}`;
}

/** The span of a request, by the conventions for HTTP servers. */
export function serverSpan(
  row: RequestRow,
  { traceId, spanId, parentSpanId }: OtlpSpanPlace,
): OtlpRecord {
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name: `${row.method} ${row.route}`,
    kind: 2,
    startTimeUnixNano: nanoseconds(row.time),
    endTimeUnixNano: nanoseconds(row.time + row.ms),
    attributes: attributes({
      "http.request.method": row.method,
      "http.route": row.route,
      "http.response.status_code": row.status,
      "http.response.body.size": row.bytes,
      "error.type": row.error,
      "causey.part": row.part,
      "causey.request_id": row.id,
      "causey.caller": row.caller,
      "causey.deprecation": row.deprecation,
    }),
    status: { code: row.status >= 500 ? 2 : 0 },
  };
}

const severities = {
  debug: [5, "DEBUG"],
  info: [9, "INFO"],
  warn: [13, "WARN"],
  error: [17, "ERROR"],
} as const;

/** The span of a part's own work. */
export function partSpan(
  span: FinishedSpan & { readonly time: number; readonly ms: number },
  { traceId, spanId, parentSpanId }: OtlpSpanPlace,
): OtlpRecord {
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name: span.name,
    kind: span.kind === "client" ? 3 : 1,
    startTimeUnixNano: nanoseconds(span.time),
    endTimeUnixNano: nanoseconds(span.time + span.ms),
    attributes: attributes(span.attributes),
    status: { code: span.isError ? 2 : 0 },
  };
}

/** A line of the log. */
export function logRecord(
  level: Parameters<Log>[0],
  message: string,
  fields: Readonly<Record<string, unknown>>,
  time: number,
): OtlpRecord {
  const [severityNumber, severityText] = severities[level];
  const plain = Object.entries(fields).map(([name, value]): [string, Value] => [
    name,
    isValue(value) ? value : JSON.stringify(value),
  ]);
  return {
    timeUnixNano: nanoseconds(time),
    severityNumber,
    severityText,
    body: { stringValue: message },
    attributes: attributes(Object.fromEntries(plain)),
  };
}

function isValue(value: unknown): value is Value {
  return value === null || ["string", "number", "boolean", "undefined"].includes(typeof value);
}

/** The durations of requests since `from`, by the conventions for HTTP servers. */
export function durationMetric(
  totals: ReadonlyMap<string, RequestTotals>,
  from: number,
  to: number,
): OtlpRecord {
  const dataPoints = [...totals].map(([key, { count, ms, buckets }]) => {
    const { part, method, route, status } = labelsOf(key);
    return {
      startTimeUnixNano: nanoseconds(from),
      timeUnixNano: nanoseconds(to),
      count: String(count),
      sum: ms / 1000,
      bucketCounts: buckets.map(String),
      explicitBounds: secondBounds,
      attributes: attributes({
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": Number(status),
        "causey.part": part,
      }),
    };
  });
  return {
    name: "http.server.request.duration",
    unit: "s",
    description: "Time until the last byte of an answer was handed over",
    // Cumulative: since the process began.
    histogram: { aggregationTemporality: 2, dataPoints },
  };
}
