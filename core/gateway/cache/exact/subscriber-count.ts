import type { System } from "../../../ports.ts";

/** Milliseconds between two timers. */
const TIMER_MS = 10_000;

/**
 * Keeps a timer pending until the returned function is called. workerd cancels a request as hung when it waits for
 * nothing but another request's promise.
 */
export function keepAwake(system: System): () => void {
  const over = new AbortController();
  const tick = async (): Promise<void> => {
    while (!over.signal.aborted) await system.sleep(TIMER_MS, over.signal);
  };
  tick().catch(() => undefined);
  return () => over.abort();
}

export interface SubscriberCount {
  /** Adds one; call the result to remove it. */
  add(): () => void;
  /** Resolves when the last one is removed. */
  readonly none: Promise<void>;
}

/** Makes a count of subscribers; `onNone` is called synchronously when the last one is removed. */
export function subscriberCount(onNone: () => void): SubscriberCount {
  const { promise: none, resolve } = Promise.withResolvers<void>();
  let count = 0;
  return {
    add() {
      count++;
      return once(() => {
        if (--count > 0) return;
        onNone();
        resolve();
      });
    },
    none,
  };
}

/** Runs the action at most once. */
export function once<A extends unknown[]>(action: (...given: A) => void): (...given: A) => void {
  let isDone = false;
  return (...given) => {
    if (isDone) return;
    isDone = true;
    action(...given);
  };
}
