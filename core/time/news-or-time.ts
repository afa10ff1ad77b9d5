import type { System } from "../ports.ts";
import { resultOrLate } from "./result-or-late.ts";

/** Resolves at the news, after `ms`, at the shutdown, or when `over` ends the wait. */
export async function newsOrTime(
  system: Pick<System, "closing" | "sleep">,
  news: Promise<void>,
  ms: number,
  over?: AbortSignal,
): Promise<void> {
  const ends = [system.closing, over].filter((one) => one !== undefined);
  const signal = AbortSignal.any(ends);
  await resultOrLate(news, undefined, { ms: Math.max(1, ms), system, signal });
}
