/** Wakes whoever waits for news. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring. */
  next(): Promise<void>;
}

/** Makes a bell. */
export function createBell(): Bell {
  let waiting: (() => void)[] = [];
  return {
    ring() {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}
