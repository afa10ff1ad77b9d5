import type { System } from "../ports.ts";
import { TIMER_OVER } from "./timer-over.ts";
import { TransportError } from "../net/transport-error.ts";

/** The time that work may take, and what else ends it. */
export interface TimeLimit {
  readonly ms: number;
  readonly signal: AbortSignal | undefined;
  readonly system: Pick<System, "sleep">;
  /** Makes the error of work that took too long. @default a `TransportError` */
  readonly late?: (() => Error) | undefined;
}

/**
 * Waits for work. Its signal aborts when `signal` does, or after `ms`: then with `late`, which the work is to reject with.
 */
export async function withinMs<T>(
  {
    ms,
    signal,
    system,
    late = () => new TransportError("late", `No answer within ${ms} ms`),
  }: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
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
