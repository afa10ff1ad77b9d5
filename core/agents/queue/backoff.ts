import { checkNumber, clamp, LONGEST_SECONDS } from "../../http/fields/bounded-number.ts";
import type { System } from "../../ports.ts";
import { delayAfter } from "../../work/backoff.ts";
import { NonRetryableError, type RetryOptions } from "../define/tasks.ts";

/** Defaults of `agent.retry()`: those of the public SDK (docs/compatibility.md). */
const inPlace = { maxAttempts: 3, baseMs: 100, maxMs: 3000 };

/** Bounds of a retry policy: a failing job runs again within a hundred years. */
const attemptsRange = { min: 1, max: 1_000_000, whole: true };
const delayRange = { min: 0, max: LONGEST_SECONDS * 1000 };

/** The delay in ms after a failed attempt, by the retry options of a job. */
export function jobDelay(
  system: System,
  { baseMs = 1000, maxMs = 300_000 }: RetryOptions,
  attempt: number,
): number {
  // Stored options may be those of a version that took any number.
  const longest = clamp(maxMs, 0, delayRange.max);
  const delays = { baseMs: clamp(baseMs, 0, delayRange.max), maxMs: longest };
  return delayAfter({ delays, spread: [0, 1] }, attempt, system) ?? longest;
}

/** Throws 400 on retry options that would never run a job, or never again; names the field and its range. */
export function checkRetry(retry: RetryOptions): RetryOptions {
  const { maxAttempts = 1, baseMs = 0, maxMs = 0 } = retry;
  checkNumber("maxAttempts", maxAttempts, attemptsRange);
  checkNumber("baseMs", baseMs, delayRange);
  checkNumber("maxMs", maxMs, delayRange);
  return retry;
}

/** Runs work until it succeeds, is not retryable, or has failed often enough; then throws its last error. */
export async function retryInPlace<T>(
  system: System,
  work: (attempt: number) => T | Promise<T>,
  options: RetryOptions = {},
  signal?: AbortSignal,
): Promise<T> {
  const retry = { ...inPlace, ...checkRetry(options) };
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      if (error instanceof NonRetryableError || attempt >= retry.maxAttempts) throw error;
    }
    await system.sleep(jobDelay(system, retry, attempt), signal);
  }
}
