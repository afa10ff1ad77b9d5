import type { Log } from "../ports.ts";
import type { Span } from "./otlp-json.ts";

/** Takes a span that has ended, and the name of the part that did the work. */
export type TakeSpan = (span: Span, part: string) => void;

/** Adds the name of a part to the lines that it writes. */
export function partLog(log: Log, part: string): Log {
  return (level, message, fields) => log(level, message, { part, ...fields });
}

/**
 * Writes the spans of some parts to a log. Attributes stay out, because callers choose some of them: models, metadata.
 */
export function spanLog(log: Log, parts: readonly string[]): TakeSpan {
  const chosen = new Set(parts);
  return (span, part) => {
    if (!chosen.has(part)) return;
    const { traceId, spanId, parentSpanId } = span;
    log("debug", "Span", {
      part,
      request_id: valueOf(span, "causey.request_id") ?? valueOf(span, "gateway.log_id"),
      span: nameOf(span),
      ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
      outcome: outcomeOf(span),
      status: valueOf(span, "http.response.status_code"),
      trace_id: traceId,
      span_id: spanId,
      parent_span_id: parentSpanId,
    });
  };
}

type Value = string | number | boolean | undefined;

function valueOf({ attributes }: Span, key: string): Value {
  const found = attributes.find((one) => one.key === key)?.value;
  if (found === undefined) return undefined;
  if ("stringValue" in found) return found.stringValue;
  if ("intValue" in found) return Number(found.intValue);
  return "doubleValue" in found ? found.doubleValue : found.boolValue;
}

/** A call of a model is named by its operation: the span's own name has the model, too. */
function nameOf(span: Span): Value {
  const operation = span.kind === 3 ? valueOf(span, "gen_ai.operation.name") : undefined;
  return operation ?? span.name;
}

/** `error.type` of a good attempt would be a caller's metadata. */
function outcomeOf(span: Span): Value {
  const { code, message } = span.status;
  return message ?? (code === 1 ? "ok" : (valueOf(span, "error.type") ?? "ok"));
}
