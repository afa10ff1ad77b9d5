import type { System } from "../ports.ts";
import { TransportError } from "../transport-error.ts";

/**
 * Waits for work to begin to bear fruit. Its signal aborts when `signal` does, or after `ms`: then with a
 * `TransportError`, which the work is to reject with. Work that bears fruit before it is done calls `begun`.
 */
export async function within<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, begun: () => void) => Promise<T>,
  system: System,
): Promise<T> {
  const late = new AbortController();
  const begun = new AbortController();
  const timer = system.sleep(ms, begun.signal).then(
    () => late.abort(new TransportError("unreachable", `No answer within ${ms} ms`)),
    () => undefined,
  );
  const signals = signal === undefined ? [late.signal] : [signal, late.signal];
  try {
    return await work(AbortSignal.any(signals), () => begun.abort());
  } finally {
    begun.abort();
    await timer;
  }
}
