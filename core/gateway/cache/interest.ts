import type { System } from "../../ports.ts";

/** Milliseconds between signs of life. */
const TICK_MS = 10_000;

/**
 * Has a timer pending until the returned function is called: workerd takes a request for hung that waits for
 * nothing but another one's promise.
 */
export function awake(system: System): () => void {
  const over = new AbortController();
  const tick = async (): Promise<void> => {
    while (!over.signal.aborted) await system.sleep(TICK_MS, over.signal);
  };
  tick().catch(() => undefined);
  return () => over.abort();
}

/** Who wants something. */
export interface Interest {
  /** Counts one more; call the result when it is gone. */
  hold(): () => void;
  /** Resolves, once, when nobody is left. */
  readonly lost: Promise<void>;
}

/** Counts who wants something; `onLost` is called at once when nobody is left. */
export function interestIn(onLost: () => void): Interest {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  let count = 0;
  return {
    hold() {
      count++;
      return once(() => {
        if (--count > 0) return;
        onLost();
        resolve();
      });
    },
    lost,
  };
}

/** The action, at most once. */
export function once<A extends unknown[]>(action: (...given: A) => void): (...given: A) => void {
  let isDone = false;
  return (...given) => {
    if (isDone) return;
    isDone = true;
    action(...given);
  };
}
