import type { LogRow } from "../../call/ended-attempt.ts";
import { readMetadata } from "../../call/controls.ts";

/** A value in OTLP's JSON form; 64-bit integers are text there. */
type AnyValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean };

/** One attribute of a span. */
export interface Attribute {
  readonly key: string;
  readonly value: AnyValue;
}

/** One span in OTLP's JSON form (opentelemetry-proto, trace.proto). */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2 = server, 3 = client. */
  readonly kind: 2 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  /** 0 = unset, 1 = ok, 2 = error. */
  readonly status: { readonly code: 0 | 1 | 2; readonly message?: string };
}

/** Takes the spans of every gateway. */
export interface SpanExporter {
  /** Whether a trace is kept; `parent` is what the caller says of it, null = nothing. */
  keeps(traceId: string, parent: boolean | null): boolean;
  take(span: Span): void;
}

/** The ids of a span and its parent. */
export interface SpanPlace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
}

/** Attributes before they are written: what is null or empty is left out, and the first of a name counts. */
export type Facts = readonly (readonly [string, string | number | boolean | null])[];

/** The content of a span beside its ids. */
export type SpanFacts = Pick<Span, "name" | "kind" | "status"> & {
  /** Unix ms. */
  readonly from: number;
  /** Unix ms. */
  readonly to: number;
  readonly facts: Facts;
};

/** Characters of a prompt or an answer that a span carries. */
const TEXT_LIMIT = 32 * 1024;

/** Writes a span. */
export function spanAt(place: SpanPlace, { name, kind, status, from, to, facts }: SpanFacts): Span {
  const { traceId, spanId, parentSpanId } = place;
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name,
    kind,
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(to),
    attributes: attributesOf(facts),
    status,
  };
}

/** Makes the span of one request to a provider, sent `resends` times before. */
export function attemptSpan(row: LogRow, resends: number, place: SpanPlace): Span {
  return spanAt(place, {
    name: row.model === "" ? operationOf(row) : `${operationOf(row)} ${row.model}`,
    kind: 3,
    from: row.createdAt,
    to: row.createdAt + row.duration,
    facts: [
      ...modelFacts(row),
      ["http.response.status_code", row.statusCode],
      ["http.request.resend_count", resends === 0 ? null : resends],
      ["gateway.log_id", row.id],
      ["gateway.event_id", row.eventId],
      ["gateway.step", row.step],
      ["gateway.cached", row.cached],
      ...metadataFacts(row.metadata),
    ],
    status: row.success ? { code: 1 } : { code: 2, message: failureOf(row) },
  });
}

function failureOf({ statusCode }: LogRow): string {
  if (statusCode === null) return "No answer";
  return statusCode < 400 ? "The answer did not arrive whole" : `Status ${statusCode}`;
}

/** Returns the attributes on a model's request and answer (docs/compatibility.md). */
export function modelFacts(row: LogRow): Facts {
  return [
    ["gen_ai.request.model", row.model],
    ["gen_ai.operation.name", operationOf(row)],
    ["gen_ai.provider.name", row.provider],
    ["gen_ai.model.provider", row.provider],
    ["gen_ai.usage.input_tokens", row.tokensIn],
    ["gen_ai.usage.output_tokens", row.tokensOut],
    ["gen_ai.usage.cost", row.cost],
    ["gen_ai.prompt_json", row.request.text?.slice(0, TEXT_LIMIT) ?? null],
    ["gen_ai.completion_json", row.response.text?.slice(0, TEXT_LIMIT) ?? null],
  ];
}

/** By the conventions for generative AI: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/. */
function operationOf({ path }: LogRow): string {
  if (path.includes("embeddings")) return "embeddings";
  return /(?:chat\/completions|messages|responses|generateContent)/.test(path)
    ? "chat"
    : "generate_content";
}

/** Metadata keys are attributes of their own; put last, they never replace others. */
export function metadataFacts(metadata: string | null): Facts {
  return Object.entries(readMetadata(metadata));
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`;
}

function attributesOf(facts: Facts): Attribute[] {
  const taken = new Set<string>();
  return facts.flatMap(([key, value]) => {
    if (taken.has(key)) return [];
    taken.add(key);
    return value === null || value === "" ? [] : [{ key, value: anyValue(key, value) }];
  });
}

const PRICES: ReadonlySet<string> = new Set(["gen_ai.usage.cost", "gateway.cost"]);

function anyValue(key: string, value: string | number | boolean): AnyValue {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // A price is a fraction even when it happens to be whole.
  if (Number.isSafeInteger(value) && !PRICES.has(key)) return { intValue: String(value) };
  return { doubleValue: value };
}

/** Returns the body of an export: the spans of one gateway (OTLP/HTTP, ExportTraceServiceRequest). */
export function exportRequest(gateway: string, spans: readonly Span[]): object {
  const attributes: Attribute[] = [
    { key: "service.name", value: { stringValue: "causey-gateway" } },
    { key: "gateway.name", value: { stringValue: gateway } },
  ];
  return {
    resourceSpans: [
      { resource: { attributes }, scopeSpans: [{ scope: { name: "causey/gateway" }, spans }] },
    ],
  };
}
