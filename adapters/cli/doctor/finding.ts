import { TransportError } from "../../../core/net/transport-error.ts";

/** The result of one check of `causey doctor`. Only `fail` makes its exit code 1. */
export interface DoctorFinding {
  readonly check: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  /** The step that helps. */
  readonly hint?: string;
}

/** Returns the reason of a failed check, in one line. */
export function failureReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
  const whole = cause === "" || message.includes(cause) ? message : `${message} (${cause})`;
  return whole.replaceAll(/\s+/gu, " ").trim().slice(0, 300);
}

/**
 * Runs work with a deadline. `AbortSignal.timeout()` cannot be cleared, and Deno waits for its timer before the process
 * ends.
 */
export async function timeLimited<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort(new TransportError("late", `No answer within ${ms / 1000} s`));
  }, ms);
  try {
    return await work(deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}
