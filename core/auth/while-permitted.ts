import { ApiError } from "../http/api-error.ts";
import type { System } from "../ports.ts";

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
