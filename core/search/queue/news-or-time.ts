import type { System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** Resolves at the news, after `ms`, at the shutdown, or when `over` ends the wait. */
export async function newsOrTime(
  system: System,
  news: Promise<void>,
  ms: number,
  over?: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const others = [system.closing, over].filter((one) => one !== undefined);
  const signal = AbortSignal.any([done.signal, ...others]);
  const time = system.sleep(Math.max(1, ms), signal).catch(() => undefined);
  await Promise.race([news, time]);
  done.abort(TIMER_OVER);
}
