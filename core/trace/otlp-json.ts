/** A record in OTLP's JSON form (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
export type OtlpRecord = object;

/** A value in OTLP's JSON form; 64-bit integers are text there. */
type AnyValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean };

export interface Attribute {
  readonly key: string;
  readonly value: AnyValue;
}

/** Attributes before they are written. Null and undefined values are left out, and the first of a name counts. */
export type Facts = readonly (readonly [string, string | number | boolean | null | undefined])[];

/** The ids of a span and its parent. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
}

/** One span in OTLP's JSON form (opentelemetry-proto, trace.proto). */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 = internal, 2 = server, 3 = client. */
  readonly kind: 1 | 2 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  /** 0 = unset, 1 = ok, 2 = error. */
  readonly status: { readonly code: 0 | 1 | 2; readonly message?: string };
}

/** The content of a span beside its ids. */
export type SpanFacts = Pick<Span, "name" | "kind" | "status"> & {
  /** Unix ms. */
  readonly from: number;
  /** Unix ms. */
  readonly to: number;
  readonly facts: Facts;
};

/** Attributes that are fractions even where they happen to be whole. */
const FRACTIONS: ReadonlySet<string> = new Set(["gen_ai.usage.cost", "gateway.cost"]);

/** Writes a span; empty texts are left out of its attributes. */
export function spanAt(
  { traceId, spanId, parentSpanId }: SpanPlace,
  { name, kind, status, from, to, facts }: SpanFacts,
): Span {
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(to),
    attributes: attributes(facts.map(([key, value]) => [key, value === "" ? null : value])),
    status,
  };
}

/** The body that exports the spans of one resource and scope (ExportTraceServiceRequest). */
export function spansBody(resource: Facts, scope: object, spans: readonly unknown[]): OtlpRecord {
  const about = { attributes: attributes(resource) };
  return { resourceSpans: [{ resource: about, scopeSpans: [{ scope, spans }] }] };
}

export function attributes(facts: Facts): Attribute[] {
  const taken = new Set<string>();
  const written: Attribute[] = [];
  for (const [key, value] of facts) {
    if (taken.has(key)) continue;
    taken.add(key);
    if (value !== null && value !== undefined) written.push({ key, value: anyValue(key, value) });
  }
  return written;
}

function anyValue(key: string, value: string | number | boolean): AnyValue {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (Number.isSafeInteger(value) && !FRACTIONS.has(key)) return { intValue: String(value) };
  return { doubleValue: value };
}

/** Unix ms as the nanoseconds that OTLP takes, exact to the microsecond. */
export function nanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.round((ms - whole) * 1e6)).padStart(6, "0")}`;
}
