import type { System } from "../ports.ts";
import { ApiError } from "./api-error.ts";

/** Bodies up to this many bytes weigh as little as the rest of their request, and do not count. */
export const UNCOUNTED: number = 16 * 1024;
/** Longer ones count as they arrive: what is only announced takes no room from others. */
export const READ_AT_ONCE: number = 256 * 1024;
/** Milliseconds for a body that counts to arrive, and without a byte of it. */
const ARRIVAL_MS = 300_000;
const STALL_MS = 30_000;

/** Of JSON the text is made, too. */
export function weightOf(bytes: number, isJson: boolean): number {
  return isJson ? 2 * bytes : bytes;
}

/** The answer where the process holds as much as it may. */
export function bodiesFull(): ApiError {
  return new ApiError("bodies_full", { headers: { "retry-after": "1" } });
}

/** The answer to a client that does not send what it has announced. */
function tooSlow(): ApiError {
  return new ApiError("request_timeout", {
    message: "The request body did not arrive in time",
    headers: { connection: "close" },
  });
}

/** Rejects with `request_timeout` when a body that is read at once takes too long. Not for small ones: it costs a timer. */
export async function inTime<T>(arriving: Promise<T>, system: System): Promise<T> {
  const over = new AbortController();
  const late = system.sleep(ARRIVAL_MS, over.signal).then(
    () => Promise.reject(tooSlow()),
    () => arriving,
  );
  try {
    return await Promise.race([arriving, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}

/** Ends the reading of a body that stands still, or takes too long: it holds memory that others need. */
export function arrivalClock(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  size: () => number,
  system: System,
): { check(): void; stop(): void } {
  const over = new AbortController();
  let isLate = false;
  const watch = async (): Promise<void> => {
    for (let waited = 0, seen = -1; waited < ARRIVAL_MS && seen !== size(); waited += STALL_MS) {
      seen = size();
      await system.sleep(STALL_MS, over.signal);
    }
    isLate = true;
    await reader.cancel();
  };
  watch().catch(() => undefined);
  return {
    check() {
      if (isLate) throw tooSlow();
    },
    stop: () => over.abort(),
  };
}
