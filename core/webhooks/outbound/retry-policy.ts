import { retryAfterMs } from "../../http/fields/retry-after.ts";
import { doubledPause, type RetrySchedule } from "../../work/backoff.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The schedule that the Standard Webhooks specification advises, behind the first attempt at once. */
export const STANDARD_SCHEDULE: RetrySchedule = {
  delays: [
    5 * SECOND,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ],
  spread: [0.8, 1.2],
};

/** The schedule of an endpoint, whose column holds its delays in seconds as JSON, or null for the standard. */
export function scheduleOf(column: unknown): RetrySchedule {
  if (typeof column !== "string") return STANDARD_SCHEDULE;
  const seconds = JSON.parse(column) as number[];
  return { ...STANDARD_SCHEDULE, delays: seconds.map((one) => one * SECOND) };
}

/** Longest wait that a receiver may ask for. */
const RETRY_AFTER_LIMIT = 24 * HOUR;

export interface AttemptResult {
  /** Null when no answer came. */
  readonly status: number | null;
  readonly error: string | null;
  /** The answer's `Retry-After`, as it came. */
  readonly retryAfter: string | null;
  /** Whether the address must not be called: no later attempt will differ. */
  readonly refused: boolean;
  /** Beginning of the answer's body. */
  readonly body: string;
  /** The answer's headers as a JSON object, without secrets; null when no answer came. */
  readonly headers: string | null;
  readonly durationMs: number;
}

/** The consequence of an attempt. */
export type Verdict =
  | { readonly kind: "delivered" }
  /** The receiver is gone (410): nothing more is sent to it. */
  | { readonly kind: "gone" }
  | { readonly kind: "dead" }
  | { readonly kind: "retry"; readonly due: number };

/**
 * Decides what follows from an attempt, whose schedule has the next one after `delay` ms, or no other (null). Only 2xx is a
 * success: a redirect is never followed.
 */
export function judge(result: AttemptResult, delay: number | null, now: number): Verdict {
  const { status, retryAfter } = result;
  if (status !== null && status >= 200 && status < 300) return { kind: "delivered" };
  if (status === 410) return { kind: "gone" };
  if (delay === null || result.refused) return { kind: "dead" };
  const asked = Math.min(retryAfterMs(retryAfter, now) ?? 0, RETRY_AFTER_LIMIT);
  return { kind: "retry", due: now + Math.max(delay, asked) };
}

/** Longest time that one failing delivery of an `ordered` endpoint holds up those behind it. */
const LONGEST_BLOCK = 24 * HOUR;

/**
 * Limits how long a delivery blocks the ones behind it, which wait since `since`: after a day it makes way for them.
 */
export function judgeInOrder(verdict: Verdict, since: number, now: number): Verdict {
  return verdict.kind === "retry" && now - since >= LONGEST_BLOCK ? { kind: "dead" } : verdict;
}

/** Failures in a row after which an endpoint is paused. */
export const TRIP_FAILURES = 5;

/**
 * The time until which an endpoint gets no requests after so many failures in a row (Unix ms), null = no pause. Due
 * deliveries wait without an attempt; then one goes out as a probe, and the rest follow if it arrives.
 */
export function trippedUntil(failures: number, now: number): number | null {
  if (failures < TRIP_FAILURES) return null;
  const pause = { baseMs: 30 * SECOND, maxMs: 30 * MINUTE };
  return now + doubledPause(pause, failures - TRIP_FAILURES);
}

/** Whether an endpoint has only failed for so long, and so often, that it is disabled. */
export function isHopeless(failingSince: number | null, failures: number, now: number): boolean {
  return failingSince !== null && now - failingSince > 5 * 24 * HOUR && failures >= 10;
}
