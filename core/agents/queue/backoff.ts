import { checkNumber, clamp, LONGEST_SECONDS } from "../../http/fields/bounded-number.ts";
import type { System } from "../../ports.ts";
import { NonRetryableError, type RetryOptions } from "../define/tasks.ts";

/** Defaults of `agent.retry()`: those of the public SDK (docs/compatibility.md). */
const inPlace = { maxAttempts: 3, baseMs: 100, maxMs: 3000 };

/** Bounds of a retry policy: a failing job runs again within a hundred years. */
const attemptsRange = { min: 1, max: 1_000_000, whole: true };
const delayRange = { min: 0, max: LONGEST_SECONDS * 1000 };

/** Exponential with full jitter, in ms, so that the retries of a burst do not come back as one. */
export function backoff(system: System, retry: RetryOptions, attempt: number): number {
  const { baseMs = 1000, maxMs = 300_000 } = retry;
  // Stored options may be those of a version that took any number.
  const longest = clamp(Math.min(maxMs, baseMs * 2 ** (attempt - 1)), 0, delayRange.max);
  const [byte = 255] = system.random(1);
  return Math.ceil((longest * (byte + 1)) / 256);
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
    await system.sleep(backoff(system, retry, attempt), signal);
  }
}
