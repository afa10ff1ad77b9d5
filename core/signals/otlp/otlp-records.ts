import type { Log } from "../../ports.ts";
import {
  attributes,
  type Facts,
  nanoseconds,
  type OtlpRecord,
  type Span,
  spanAt,
  type SpanPlace,
} from "../../trace/otlp-json.ts";
import type { FinishedSpan, TraceContext } from "../../trace/trace-context.ts";
import type { RequestRow } from "../requests/request-row.ts";
import { labelsOf, type RequestTotals, secondBounds } from "../requests/request-totals.ts";

/** The place of a span in its trace, and whether it is kept. */
export interface OtlpSpanPlace extends SpanPlace, TraceContext {}

/** The span of a request, by the conventions for HTTP servers. */
export function serverSpan(row: RequestRow, place: SpanPlace): Span {
  return spanAt(place, {
    name: `${row.method} ${row.route}`,
    kind: 2,
    from: row.time,
    to: row.time + row.ms,
    facts: [
      ["http.request.method", row.method],
      ["http.route", row.route],
      ["http.response.status_code", row.status],
      ["http.response.body.size", row.bytes],
      ["error.type", row.error],
      ["causey.part", row.part],
      ["causey.request_id", row.id],
      ["causey.caller", row.caller],
      ["causey.deprecation", row.deprecation],
    ],
    status: { code: row.status >= 500 ? 2 : 0 },
  });
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
  place: SpanPlace,
): Span {
  return spanAt(place, {
    name: span.name,
    kind: span.kind === "client" ? 3 : 1,
    from: span.time,
    to: span.time + span.ms,
    facts: Object.entries(span.attributes),
    status: { code: span.isError ? 2 : 0 },
  });
}

export function logRecord(
  level: Parameters<Log>[0],
  message: string,
  fields: Readonly<Record<string, unknown>>,
  time: number,
): OtlpRecord {
  const [severityNumber, severityText] = severities[level];
  const plain: Facts = Object.entries(fields).map(([name, value]) => [
    name,
    isValue(value) ? value : JSON.stringify(value),
  ]);
  return {
    timeUnixNano: nanoseconds(time),
    severityNumber,
    severityText,
    body: { stringValue: message },
    attributes: attributes(plain),
  };
}

function isValue(value: unknown): value is Facts[number][1] {
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
      attributes: attributes([
        ["http.request.method", method],
        ["http.route", route],
        ["http.response.status_code", Number(status)],
        ["causey.part", part],
      ]),
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
