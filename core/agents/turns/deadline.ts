import { ApiError } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** The time that a handler or a callable has. */
export interface Deadline {
  /** Aborted when the time is over. */
  readonly signal: AbortSignal;
  /** Throws once the time is over, so that a late handler has no further effects. */
  readonly check: () => void;
  /** The time that is left, in ms. */
  readonly left: () => number;
  /** Starts the time again from the beginning. */
  readonly extend: () => void;
  /** The whole time in ms, for messages. */
  readonly limit: number;
}

/**
 * Runs work that has `ms` of elapsed time; rejects with `ApiError` 408 when it takes longer. Nothing can stop
 * JavaScript that goes on regardless: the deadline's `check` keeps it from having effects. `limit` is the time
 * that the message names: the whole one, where `ms` is what an outer deadline has left of it.
 */
export async function withDeadline<T>(
  system: System,
  { ms, limit = ms }: { readonly ms: number; readonly limit?: number | undefined },
  what: string,
  work: (deadline: Deadline) => T | Promise<T>,
): Promise<T> {
  const over = new AbortController();
  let until = system.monotonic() + ms;
  const result = work({
    signal: over.signal,
    check() {
      over.signal.throwIfAborted();
    },
    left: () => Math.max(0, until - system.monotonic()),
    extend() {
      until = system.monotonic() + ms;
    },
    limit,
  });
  if (!(result instanceof Promise)) return result;
  const done = new AbortController();
  const expiry = async (): Promise<never> => {
    for (let left = ms; left > 0; left = until - system.monotonic()) {
      await system.sleep(left, done.signal);
    }
    const message = `${what} took more than ${Math.ceil(limit)} ms`;
    const error = new ApiError("request_timeout", { message });
    over.abort(error);
    throw error;
  };
  const expired = expiry();
  try {
    return await Promise.race([result, expired]);
  } finally {
    done.abort(TIMER_OVER);
    // The race is over: the loser may still reject.
    expired.catch(() => undefined);
    result.catch(() => undefined);
  }
}
