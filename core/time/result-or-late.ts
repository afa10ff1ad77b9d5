import type { System } from "../ports.ts";
import { TIMER_OVER } from "./timer-over.ts";

/** The time that a result is waited for, and what else ends the wait. */
export interface WaitLimit {
  readonly ms: number;
  readonly system: Pick<System, "sleep">;
  /** @default nothing */
  readonly signal?: AbortSignal | undefined;
}

/** Resolves to the result of work, or to `late` when the wait ends first. The work goes on: `withinMs` ends it, too. */
export async function resultOrLate<T, L>(
  work: Promise<T>,
  late: L,
  { ms, system, signal }: WaitLimit,
): Promise<T | L> {
  const over = new AbortController();
  const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const timer = system.sleep(ms, ends).then(
    () => late,
    () => late,
  );
  try {
    return await Promise.race([work, timer]);
  } finally {
    over.abort(TIMER_OVER);
  }
}
