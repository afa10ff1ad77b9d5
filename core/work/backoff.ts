import type { System } from "../ports.ts";

/** A pause that doubles from `baseMs` up to `maxMs`. */
export interface DoublingPause {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Returns the pause in ms after so many doublings. */
export function doubledPause({ baseMs, maxMs }: DoublingPause, doublings: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(doublings, 32));
}

/** The delays between the attempts of a piece of work, as data. */
export interface RetrySchedule {
  /** The delay in ms before each attempt after the first, or the first of delays that double up to a longest one. */
  readonly delays: readonly number[] | DoublingPause;
  /**
   * The factors between which each delay is drawn, so that the attempts of a burst do not come back as one: `[0, 1]` is
   * full jitter, `[1, 1]` none.
   */
  readonly spread: readonly [least: number, most: number];
}

/** The delay in ms behind attempt number `attempt` (1 = first); null when it was the last one of the list. */
export function delayAfter(
  { delays, spread: [least, most] }: RetrySchedule,
  attempt: number,
  system: Pick<System, "random">,
): number | null {
  const delay = "baseMs" in delays ? doubledPause(delays, attempt - 1) : delays[attempt - 1];
  if (delay === undefined) return null;
  const [byte = 255] = system.random(1);
  return Math.ceil(delay * (least + ((most - least) * (byte + 1)) / 256));
}
