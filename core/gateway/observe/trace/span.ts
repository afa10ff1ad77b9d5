import type { LogRow } from "../../call/ended-attempt.ts";
import { readMetadata } from "../../call/controls.ts";
import {
  type Facts,
  type OtlpRecord,
  type Span,
  spanAt,
  type SpanPlace,
  spansBody,
} from "../../../trace/otlp-json.ts";

/** Takes the spans of every gateway. */
export interface SpanExporter {
  /** Whether the `traceparent` of a trace says that it is kept; `parent` is what the caller says of it, null = nothing. */
  keeps(traceId: string, parent: boolean | null): boolean;
  /** Takes a span; `parent` as for `keeps`. */
  take(span: Span, parent: boolean | null): void;
}

/** Characters of a prompt or an answer that a span carries. */
const TEXT_LIMIT = 32 * 1024;

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

function failureOf({ statusCode, note }: LogRow): string {
  if (note !== null) return note;
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

/** Returns the body of an export: the spans of one gateway (OTLP/HTTP, ExportTraceServiceRequest). */
export function exportRequest(gateway: string, spans: readonly Span[]): OtlpRecord {
  const resource: Facts = [
    ["service.name", "causey-gateway"],
    ["gateway.name", gateway],
  ];
  return spansBody(resource, { name: "causey/gateway" }, spans);
}
