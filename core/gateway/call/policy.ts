import type { Backoff, Controls } from "./controls.ts";
import type { GatewaySettings } from "../account/settings/settings.ts";

/** How often and how patiently a step is attempted. */
export interface RetryPolicy {
  readonly attempts: number;
  /** Milliseconds. */
  readonly delay: number;
  readonly backoff: Backoff;
  /** Milliseconds within which an answer to each attempt must begin. */
  readonly timeout: number;
}

const DEFAULT_DELAY = 1000;
/** No pause is longer, whatever the backoff or the provider says; in ms. */
const LONGEST_PAUSE = 60_000;
/** The longest pause that a provider's `retry-after` can ask for, in ms. */
export const LONGEST_RETRY_AFTER = 5000;

/** The policy of a step: what its headers ask for, over the gateway's settings and the `firstByteMs` of the process. */
export function retryPolicy(
  settings: GatewaySettings,
  given: Controls,
  firstByteMs: number,
): RetryPolicy {
  return {
    attempts: given.maxAttempts ?? settings.retry_max_attempts ?? 1,
    delay: given.retryDelay ?? settings.retry_delay ?? DEFAULT_DELAY,
    backoff: given.backoff ?? settings.retry_backoff ?? "constant",
    timeout: given.requestTimeout ?? firstByteMs,
  };
}

/** Whether an answer is worth another attempt (docs/compatibility.md); `x-should-retry` outranks the status. */
export function isRetryable(status: number, shouldRetry: string | null): boolean {
  // No header makes a success worth another, paid, attempt.
  if (status < 400 || shouldRetry === "false") return false;
  if (shouldRetry === "true") return true;
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Milliseconds to pause after try number `attempt` (from 1); `retryAfter` (ms) lengthens it to {@link LONGEST_RETRY_AFTER} at most. */
export function pauseAfter(
  attempt: number,
  policy: RetryPolicy,
  retryAfter: number | null,
): number {
  const { backoff, delay } = policy;
  const factor = backoff === "constant" ? 1 : backoff === "linear" ? attempt : 2 ** (attempt - 1);
  const asked = Math.min(retryAfter ?? 0, LONGEST_RETRY_AFTER);
  return Math.min(Math.max(delay * factor, asked), LONGEST_PAUSE, policy.timeout);
}
