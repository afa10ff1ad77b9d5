import { withTraceparent } from "../../trace/trace-context.ts";
import type { AnswerSilence, InboundResponse, System } from "../../ports.ts";
import { ApiError } from "../../http/api-error.ts";
import { retryAfterMs } from "../../http/fields/retry-after.ts";
import { failureWords } from "../../net/network-failure.ts";
import { TransportError } from "../../net/transport-error.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import type { Call } from "./call.ts";
import type { Outbound } from "./outbound.ts";
import { isRetryable, LONGEST_RETRY_AFTER, pauseAfter, type RetryPolicy } from "./policy.ts";

/** How one attempt ended: with an answer of any status, or without one. */
export type AttemptOutcome = InboundResponse | TransportError;

/** The failure that an answer with a status of success reports. */
export interface AnswerFailure {
  /** Its kind, such as `rate_limit`. */
  readonly kind: string;
  /** The status that an answer of its own would have. */
  readonly status: number;
}

/** The outcome of an attempt whose answer was looked at. */
export interface PeekedOutcome {
  readonly answer: AttemptOutcome;
  /** Null for an answer that says by its status what it is. */
  readonly failure: AnswerFailure | null;
}

interface AttemptTerms {
  readonly beginMs: number;
  readonly silence: AnswerSilence;
  /** Names its span to the provider, in place of the caller's. */
  readonly traceparent: string | undefined;
}

/** Sends a prepared request once; `beginMs` bounds the wait for an answer to begin, `silence` the one for it to go on. */
export async function sendAttempt(
  { via, request }: Outbound,
  { beginMs, silence, traceparent }: AttemptTerms,
  call: Call,
): Promise<AttemptOutcome> {
  const { headers } = request;
  const named = traceparent === undefined ? headers : withTraceparent(headers, traceparent);
  try {
    return await via.send({ ...request, headers: named, beginMs, silence });
  } catch (error) {
    if (error instanceof TransportError) return error;
    if (call.signal.aborted)
      return new TransportError("aborted", "The client went away", { cause: error });
    throw error;
  }
}

/** Whether another attempt is worth making. After the client left none is. */
export function isWorthRetrying(
  answer: AttemptOutcome,
  call: Call,
  failure: AnswerFailure | null,
): boolean {
  if (call.signal.aborted) return false;
  if (answer instanceof TransportError) return answer.reason !== "refused";
  return isRetryable(
    failure?.status ?? answer.status,
    headerValue(answer.headers, "x-should-retry"),
  );
}

/** Whether the provider asks for a longer pause (`retry-after`) than we are willing to make. */
export function hasLongRetryAfter(answer: AttemptOutcome, system: System): boolean {
  return (retryAfterOf(answer, system) ?? 0) > LONGEST_RETRY_AFTER;
}

/** Milliseconds to wait after attempt number `number` (from 1). */
export function retryDelay(
  answer: AttemptOutcome,
  number: number,
  policy: RetryPolicy,
  system: System,
): number {
  return pauseAfter(number, policy, retryAfterOf(answer, system));
}

/** Returns the pause that an answer asks for by `retry-after-ms` or `retry-after`, in ms; null where it does not say. */
export function retryAfterOf(answer: AttemptOutcome, system: Pick<System, "now">): number | null {
  if (answer instanceof TransportError) return null;
  const ms = headerValue(answer.headers, "retry-after-ms") ?? "";
  if (/^\d+(?:\.\d+)?$/.test(ms)) return Number(ms);
  return retryAfterMs(headerValue(answer.headers, "retry-after"), system.now());
}

/**
 * Makes the error for a provider that gave no answer. Its client learns which step of the connection failed and what
 * helps; the log, what the runtime said of it, too, as that may name addresses of this network.
 */
export function providerFailed(cause: AttemptOutcome, slug: string, status: 502 | 400): ApiError {
  // A body that was refused on its way looks to the transport like one that broke.
  if (cause instanceof TransportError && cause.cause instanceof ApiError) return cause.cause;
  const about = `Failed to get response from provider "${slug}"`;
  if (!(cause instanceof TransportError)) {
    const message = `${about}: its answer has the status ${cause.status}`;
    return new ApiError("provider_failed", { status, message });
  }
  const { failure } = cause;
  const reason = `${about}: ${failureNote(cause)}`;
  if (failure === null)
    return new ApiError("provider_failed", { status, cause, message: reason, reason });
  const { detail, hint } = failureWords[failure];
  const said = failure === "timeout" ? cause.message : detail;
  const message = `${about}: ${said} (${failure}). ${hint}`;
  return new ApiError("provider_failed", { status, cause, message, reason, details: { failure } });
}

/** Says why an attempt had no answer: what the row of it has as its note. */
export function failureNote({ failure, reason, message }: TransportError): string {
  return `${failure ?? reason}: ${message}`.slice(0, 300);
}
