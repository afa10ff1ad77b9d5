import { toHex } from "../../crypto/encoding.ts";
import type { System } from "../../ports.ts";
import type { LogRow } from "../log-row.ts";
import type { TraceParent } from "./trace-parent.ts";

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
  readonly kind: 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: 1 | 2; readonly message?: string };
}

/** Characters of a prompt or an answer that a span carries. */
const TEXT_LIMIT = 32 * 1024;

/** The span of one request to a provider. Metadata keys are attributes of their own and never replace others. */
export function spanOf(row: LogRow, parent: TraceParent | null, system: System): Span {
  const parentId = parent?.spanId ?? null;
  return {
    traceId: parent?.traceId ?? toHex(system.random(16)),
    spanId: toHex(system.random(8)),
    ...(parentId === null ? {} : { parentSpanId: parentId }),
    name: row.model === "" ? row.provider : `${row.provider} ${row.model}`,
    kind: 3,
    startTimeUnixNano: nanoseconds(row.createdAt),
    endTimeUnixNano: nanoseconds(row.createdAt + row.duration),
    attributes: attributesOf(row),
    status: row.success
      ? { code: 1 }
      : { code: 2, message: row.statusCode === null ? "No answer" : `Status ${row.statusCode}` },
  };
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`;
}

function attributesOf(row: LogRow): Attribute[] {
  const own: (readonly [string, string | number | boolean | null])[] = [
    ["gen_ai.request.model", row.model],
    ["gen_ai.model.provider", row.provider],
    ["gen_ai.usage.input_tokens", row.tokensIn],
    ["gen_ai.usage.output_tokens", row.tokensOut],
    ["gen_ai.usage.cost", row.cost],
    ["gen_ai.prompt_json", row.request.text?.slice(0, TEXT_LIMIT) ?? null],
    ["gen_ai.completion_json", row.response.text?.slice(0, TEXT_LIMIT) ?? null],
    ["http.response.status_code", row.statusCode],
    ["gateway.log_id", row.id],
    ["gateway.event_id", row.eventId],
    ["gateway.step", row.step],
    ["gateway.cached", row.cached],
  ];
  const taken = new Set(own.map(([key]) => key));
  const metadata = metadataOf(row).filter(([key]) => !taken.has(key));
  return [...own, ...metadata].flatMap(([key, value]) => {
    if (value === null || value === "") return [];
    return [{ key, value: anyValue(key, value) }];
  });
}

function metadataOf({ metadata }: LogRow): [string, string | number | boolean][] {
  if (metadata === null) return [];
  try {
    return Object.entries(JSON.parse(metadata) as Record<string, string | number | boolean>);
  } catch {
    return [];
  }
}

function anyValue(key: string, value: string | number | boolean): AnyValue {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // A price is a fraction even when it happens to be whole.
  if (Number.isSafeInteger(value) && key !== "gen_ai.usage.cost")
    return { intValue: String(value) };
  return { doubleValue: value };
}

/** The body of an export: the spans of one gateway (OTLP/HTTP, ExportTraceServiceRequest). */
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
