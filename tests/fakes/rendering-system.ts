import type { System } from "../../core/ports.ts";

/** A clock that moves only when it is told to. */
export interface FakeClock {
  readonly system: System;
  /** Moves time on and lets everything that became due run. */
  advance(ms: number): Promise<void>;
}

/** A system whose time stands still until `advance()`. */
export function fakeClock(): FakeClock {
  let now = 1_000;
  const sleepers = new Set<{ readonly due: number; readonly wake: () => void }>();
  const system: System = {
    now: () => now,
    monotonic: () => now,
    id: () => "00000000-0000-4000-8000-000000000000",
    random: (length) => new Uint8Array(length),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason);
        const abort = (): void => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        const wake = (): void => {
          signal?.removeEventListener("abort", abort);
          resolve();
        };
        const sleeper = { due: now + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", abort, { once: true });
      }),
    waitUntil: () => undefined,
  };
  return {
    system,
    async advance(ms) {
      now += ms;
      for (const sleeper of sleepers) {
        if (sleeper.due > now) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
      await settled();
    },
  };
}

/** Lets promises that can settle do so. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}
