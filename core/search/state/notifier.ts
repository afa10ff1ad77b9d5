/** Wakes all that wait for the next change. */
export interface Notifier {
  notify(): void;
  /** Resolves at the next `notify()`. */
  next(): Promise<void>;
}

/** Makes a notifier without waiters. */
export function createNotifier(): Notifier {
  let waiting: (() => void)[] = [];
  return {
    notify() {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}
