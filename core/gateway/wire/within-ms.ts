import type { System } from "../../ports.ts";
import { TransportError } from "../../transport-error.ts";
import { TIMER_OVER } from "../../timer-over.ts";

/**
 * Waits for work. Its signal aborts when `signal` does, or after `ms`: then with a `TransportError`, which the work is to
 * reject with.
 */
export async function withinMs<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  system: System,
): Promise<T> {
  const late = new AbortController();
  const over = new AbortController();
  const timer = system.sleep(ms, over.signal).then(
    () => late.abort(new TransportError("late", `No answer within ${ms} ms`)),
    () => undefined,
  );
  const signals = signal === undefined ? [late.signal] : [signal, late.signal];
  try {
    return await work(AbortSignal.any(signals));
  } finally {
    over.abort(TIMER_OVER);
    await timer;
  }
}
