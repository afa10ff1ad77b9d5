import type { LogRow } from "../../call/ended-attempt.ts";
import { type Facts, type Span, spanAt } from "../../../trace/otlp-json.ts";
import { attemptSpan, metadataFacts, modelFacts } from "./span.ts";
import type { TraceParent } from "../../call/trace-parent.ts";

/** The route by which a request arrived, in the words of OpenTelemetry's conventions for HTTP. */
export interface EntryRoute {
  /** The method of an HTTP request; null for other entries. */
  readonly method: string | null;
  readonly route: string;
}

/** One attempt of a request: its log row, and what the trace needs beside it. */
export interface TracedAttempt {
  readonly row: LogRow;
  /** The trace that the caller, or the step, names. */
  readonly parent: TraceParent | null;
  readonly spanId: string;
  /** How many times the same request was sent to the provider before. */
  readonly resends: number;
  /** Whether a provider was asked: not for an answer from the cache or a prompt that was held back. */
  readonly sent: boolean;
  /** Whether the client was gone before its end. */
  readonly left: boolean;
}

/** How a request ended: with the answer of one row, or with an error of the gateway's own. */
export type RequestOutcome =
  | { readonly logId: string; readonly status: number; readonly step: number }
  | { readonly error: string; readonly status: number | null; readonly code: number | null };

/** A request that is over. */
export interface TracedRequest {
  readonly entry: EntryRoute;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Whether the caller wants the trace kept; null = it does not say. */
  readonly isSampled: boolean | null;
  /** Unix ms. */
  readonly from: number;
  /** Unix ms. */
  readonly to: number;
  readonly eventId: string | null;
  readonly userAgent: string | null;
  /** JSON text. */
  readonly metadata: string | null;
  readonly attempts: readonly TracedAttempt[];
  readonly outcome: RequestOutcome;
  /** Why an incomplete answer is incomplete. */
  readonly breach: "aborted" | "broken";
}

/** Makes the span of a whole request, named and judged as OpenTelemetry's conventions for HTTP servers say. */
export function requestSpan(request: TracedRequest): Span {
  const { entry, attempts, outcome } = request;
  const answered = "logId" in outcome ? rowOf(outcome.logId, attempts) : null;
  const { error, isFailure } = verdictOn(outcome, answered, request.breach);
  const facts: Facts = [
    ...httpFacts(entry),
    ["http.response.status_code", outcome.status],
    ["error.type", error],
    ["user_agent.original", request.userAgent?.slice(0, 512) ?? null],
    ...answerFacts(answered),
    ["gateway.cost", costOf(attempts)],
    ["gateway.tries", attempts.filter(({ sent }) => sent).length],
    ["gateway.event_id", attempts.at(-1)?.row.eventId ?? request.eventId],
    ["gateway.error_code", "code" in outcome ? outcome.code : null],
    // The spans of the attempts carry cost and tokens: repeating them here would count them twice.
    ...metadataFacts(answered?.metadata ?? request.metadata).filter(
      ([key]) => !key.startsWith("gen_ai."),
    ),
  ];
  return spanAt(request, {
    name: nameOf(entry),
    kind: 2,
    from: request.from,
    to: request.to,
    facts,
    status: { code: isFailure ? 2 : 0 },
  });
}

/**
 * Makes the span of one attempt; null when no provider was asked. A step that names another trace has its attempts there.
 */
export function childSpan(
  { row, parent, spanId: ownId, resends, sent }: TracedAttempt,
  { traceId, spanId }: Pick<TracedRequest, "traceId" | "spanId">,
): Span | null {
  if (!sent) return null;
  const isElsewhere = parent !== null && parent.traceId !== traceId;
  return attemptSpan(row, resends, {
    traceId: isElsewhere ? parent.traceId : traceId,
    spanId: ownId,
    parentSpanId: isElsewhere ? parent.spanId : spanId,
  });
}

function httpFacts({ method, route }: EntryRoute): Facts {
  if (method === null) return [];
  return [
    ["http.request.method", known(method)],
    ["http.route", route],
  ];
}

function answerFacts(row: LogRow | null): Facts {
  // The names are taken here, too: metadata of a caller cannot have them.
  if (row === null)
    return [
      ["gateway.cached", false],
      ["gateway.step", null],
      ["gateway.log_id", null],
    ];
  return [
    // No provider was asked, so no other span says it.
    ...(row.cached ? modelFacts(row) : []),
    ["gateway.cached", row.cached],
    ["gateway.step", row.step],
    ["gateway.log_id", row.id],
  ];
}

/** In US dollars; null = not known of any attempt. */
function costOf(attempts: readonly TracedAttempt[]): number | null {
  const costs = attempts.flatMap(({ row }) => (row.cost === null ? [] : [row.cost]));
  return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
}

function rowOf(logId: string, attempts: readonly TracedAttempt[]): LogRow | null {
  return attempts.find(({ row }) => row.id === logId)?.row ?? null;
}

function verdictOn(
  outcome: RequestOutcome,
  answered: LogRow | null,
  breach: TracedRequest["breach"],
): { readonly error: string | null; readonly isFailure: boolean } {
  const { status } = outcome;
  if ("error" in outcome)
    return { error: outcome.error, isFailure: status === null || status >= 500 };
  if (outcome.status >= 500) return { error: String(status), isFailure: true };
  // A client's mistake is not a failure of the server.
  const isBroken = outcome.status < 400 && answered?.success === false;
  return { error: isBroken ? breach : null, isFailure: isBroken };
}

function nameOf({ method, route }: EntryRoute): string {
  if (method === null) return route;
  return `${known(method) === "_OTHER" ? "HTTP" : method} ${route}`;
}

const METHODS = /^(?:CONNECT|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT|QUERY|TRACE)$/;

function known(method: string): string {
  return METHODS.test(method) ? method : "_OTHER";
}
