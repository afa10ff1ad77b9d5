import type { HeaderPair } from "../ports.ts";

/** A span as other programs name it: https://www.w3.org/TR/trace-context/. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits. */
  readonly spanId: string;
  /** Whether a program keeps the trace. */
  readonly isSampled: boolean;
}

export interface FinishedSpan {
  readonly name: string;
  /** Whether it is a request to another program, or work of our own. */
  readonly kind: "client" | "internal";
  /** Null values are left out. */
  readonly attributes: Readonly<Record<string, string | number | boolean | null>>;
  readonly isError: boolean;
}

export interface OpenSpan {
  /** The header that names the span to another program. */
  readonly traceparent: string;
  /** Called once. */
  end(facts: FinishedSpan): void;
}

/** Takes the spans of a part's work, for a request or on its own. */
export interface Tracer {
  /** Begins a span below another one; null begins a trace. */
  begin(parent: TraceContext | null): OpenSpan;
}

/** Reads the header `traceparent`; null for a missing or malformed one, which is to be ignored. */
export function readTraceparent(value: string | null): TraceContext | null {
  const match =
    /^(?!ff|00-.{53})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(
      value?.trim() ?? "",
    );
  if (match === null) return null;
  const [, traceId = "", spanId = "", flags = ""] = match;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The header `traceparent` for a span. */
export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The `traceparent` of the span of a request, to be stored with the work that it causes; null without tracing. */
export function traceparentOf(request: Request): string | null {
  const span = traceOf(request);
  return span === null ? null : writeTraceparent(span);
}

/** Headers that name this span, and no other. */
export function withTraceparent(headers: readonly HeaderPair[], value: string): HeaderPair[] {
  return [...headers.filter(([name]) => name !== "traceparent"), ["traceparent", value]];
}

const spans = new WeakMap<Request, TraceContext>();

/** Notes the span of a request that has arrived, for the parts that ask others on its behalf. */
export function noteTrace(request: Request, span: TraceContext): void {
  spans.set(request, span);
}

/** The span of a request; null without tracing. */
export function traceOf(request: Request): TraceContext | null {
  return spans.get(request) ?? null;
}
