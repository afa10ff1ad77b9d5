import type { System } from "../ports.ts";
import { TIMER_OVER } from "./timer-over.ts";
import { TransportError } from "../net/transport-error.ts";

/**
 * Waits for work. Its signal aborts when `signal` does, or after `ms`: then with `late`, which the work is to reject with.
 *
 * @param late Makes the reason. @default a `TransportError`
 */
export async function withinMs<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
  system: System,
  late: () => Error = () => new TransportError("late", `No answer within ${ms} ms`),
): Promise<T> {
  const limit = new AbortController();
  const over = new AbortController();
  const timer = system.sleep(ms, over.signal).then(
    () => limit.abort(late()),
    () => undefined,
  );
  const signals = signal === undefined ? [limit.signal] : [signal, limit.signal];
  try {
    return await work(AbortSignal.any(signals));
  } catch (error) {
    // Transports that have an error of their own for every abort would hide why.
    limit.signal.throwIfAborted();
    throw error;
  } finally {
    over.abort(TIMER_OVER);
    await timer;
  }
}
