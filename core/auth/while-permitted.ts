import { ApiError } from "../http/api-error.ts";
import type { Log, System } from "../ports.ts";

/** Milliseconds within which a change of a caller's token reaches its open streams. */
export const REVIEW_MS = 10_000;

/**
 * Passes a stream on while its caller may read it. `review` checks the caller again, before each item that comes so
 * long after the last check. A refusal ends the stream; a check that fails breaks it, so that its client comes back.
 */
export async function* whilePermitted<T>(
  source: AsyncIterable<T>,
  review: () => Promise<unknown>,
  system: Pick<System, "monotonic">,
): AsyncGenerator<T> {
  let reviewedAt = system.monotonic();
  for await (const item of source) {
    const now = system.monotonic();
    if (now - reviewedAt >= REVIEW_MS) {
      if (!(await isPermitted(review))) return;
      reviewedAt = now;
    }
    yield item;
  }
}

async function isPermitted(review: () => Promise<unknown>): Promise<boolean> {
  try {
    await review();
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return false;
    throw error;
  }
}

/**
 * Checks every {@link REVIEW_MS} whether a caller may still use a connection, until `signal` aborts; rejects with the
 * refusal. A check that fails is logged, and the connection goes on.
 */
export async function untilRefused(
  review: () => Promise<unknown>,
  { system, log }: ReviewParts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await system.sleep(REVIEW_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    const refusal = await refusalOf(review, log);
    if (refusal !== null) throw refusal;
  }
}

export interface ReviewParts {
  readonly system: Pick<System, "sleep">;
  readonly log: Log;
}

/** The refusal of a review; null if the caller may go on. A check that fails is logged and refuses nothing. */
export async function refusalOf(
  review: () => Promise<unknown>,
  log: Log,
): Promise<ApiError | null> {
  try {
    await review();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return error;
    log("error", "A connection's token could not be checked", { error: String(error) });
  }
  return null;
}

/** The reason of a close frame, which has room for 123 bytes (RFC 6455, section 5.5). */
export function closeReason({ message }: ApiError): string {
  // One byte a character.
  return message.replaceAll(/[^ -~]/g, "?").slice(0, 123);
}
