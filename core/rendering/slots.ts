import { ApiError } from "../http/api-error.ts";

/** How many renderings run and wait at a time. */
export interface SlotOptions {
  readonly running: number;
  readonly waiting: number;
}

/** A bounded queue in front of a bounded number of slots. */
export interface RenderSlots {
  /**
   * Waits for a slot and returns the function that frees it.
   *
   * @throws ApiError `render_rate_limited` with `Retry-After` when the queue is full
   */
  take(signal: AbortSignal): Promise<() => void>;
}

/** Does work in a slot. */
export async function withSlot<T>(
  slots: RenderSlots,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const free = await slots.take(signal);
  try {
    return await work();
  } finally {
    free();
  }
}

/** Makes slots; first come, first served. */
export function renderSlots(options: SlotOptions): RenderSlots {
  let running = 0;
  const waiting = new Set<() => void>();
  const free = (): (() => void) => {
    let freed = false;
    return () => {
      if (freed) return;
      freed = true;
      const [next] = waiting;
      if (next === undefined) running -= 1;
      else next();
    };
  };
  return {
    take(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (running < options.running) {
        running += 1;
        return Promise.resolve(free());
      }
      if (waiting.size >= options.waiting) {
        const message = "Rate limit exceeded: too many renderings are waiting, retry later";
        return Promise.reject(
          new ApiError("render_rate_limited", { message, headers: { "retry-after": "5" } }),
        );
      }
      return new Promise((resolve, reject) => {
        const abort = (): void => {
          waiting.delete(start);
          reject(signal.reason);
        };
        // The slot is handed over, so nobody who comes later can slip in between.
        const start = (): void => {
          waiting.delete(start);
          signal.removeEventListener("abort", abort);
          resolve(free());
        };
        waiting.add(start);
        signal.addEventListener("abort", abort, { once: true });
      });
    },
  };
}
