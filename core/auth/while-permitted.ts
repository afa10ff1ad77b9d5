import { ApiError } from "../http/api-error.ts";
import type { Log, System } from "../ports.ts";

/** Milliseconds after which a change of a caller's token reaches what it holds open, at the latest. */
export const REVIEW_MS = 10_000;

/**
 * Passes a stream on while its caller may read it. `review` looks the caller up again, before each item that comes so long
 * after the last look: a refusal ends the stream. A look that fails breaks it, and its client comes back.
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
 * Asks every {@link REVIEW_MS} whether a caller may still use a connection, until `signal` aborts; rejects with the refusal.
 * A look that fails is logged, and the connection goes on.
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

/** What a review works with. */
export interface ReviewParts {
  readonly system: Pick<System, "sleep">;
  readonly log: Log;
}

/** The refusal of a review; null when the caller may go on, or could not be looked up, which is logged. */
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
