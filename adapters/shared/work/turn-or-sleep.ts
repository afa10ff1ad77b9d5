import { setImmediate } from "node:timers";
import type { System } from "../../../core/ports.ts";

/**
 * A `sleep` whose 0 ms end with a turn of the event loop, after its I/O. A timer of 0 ms takes a millisecond, and a search over
 * 100,000 vectors lets others go on 26 times. Whoever sleeps so has a slice of long work before and behind it: one of them goes
 * on in each turn, so that requests wait for one slice, however many do long work.
 */
export function turnOrSleep(system: Pick<System, "sleep">): System["sleep"] {
  const waiting = new Set<() => void>();
  const next = (): void => {
    const [wake] = waiting;
    if (wake === undefined) return;
    waiting.delete(wake);
    if (waiting.size > 0) setImmediate(next);
    wake();
  };
  return (ms, signal) => {
    if (ms !== 0 || signal !== undefined) return system.sleep(ms, signal);
    return new Promise((resolve) => {
      if (waiting.size === 0) setImmediate(next);
      waiting.add(() => resolve());
    });
  };
}
