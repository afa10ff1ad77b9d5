import type { LedgerSum, Limit, LimitType, Period, LedgerSlices } from "./budget.ts";
import { toParts } from "./usd.ts";

/** A sliding window moves in steps of a thousandth of itself, and at least of a millisecond. */
const SLICES = 1000;
/** The last instant that a date can name. */
const NEVER = 8_640_000_000_000_000;
/** The largest sum that is read. A larger one says no more than that the limit is used up. */
const LARGEST = 9e15;

/** Finds the slice of time in which a limit counts at `now`, since when entries count, and until when. Unix ms. */
export function sliceAt(
  { window, technique }: Pick<Limit, "window" | "technique">,
  now: number,
): { readonly slice: number; readonly since: number; readonly ends: number } {
  if (window === null) return { slice: 0, since: 0, ends: NEVER };
  if (typeof window === "string") return periodAt(window, now);
  const length = Math.round(window * 1000);
  const isSliding = technique === "sliding";
  const step = isSliding ? Math.max(1, Math.floor(length / SLICES)) : length;
  const slice = now - (now % step);
  // A slice counts until the last moment of it has left the window.
  return {
    slice,
    since: isSliding ? slice - length : slice,
    ends: isSliding ? slice + step + length : slice + length,
  };
}

const DAY_MS = 86_400_000;

/** Finds the period that `now` is in. Unix ms. */
function periodAt(
  period: Period,
  now: number,
): { readonly slice: number; readonly since: number; readonly ends: number } {
  const date = new Date(now);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (period === "month") {
    const slice = Date.UTC(year, month, 1);
    return { slice, since: slice, ends: Date.UTC(year, month + 1, 1) };
  }
  // Sunday is the last day of a week, not its first.
  const daysIn = period === "week" ? (date.getUTCDay() + 6) % 7 : 0;
  const slice = Date.UTC(year, month, day - daysIn);
  return { slice, since: slice, ends: slice + (period === "week" ? 7 : 1) * DAY_MS };
}

/** Adds up the slices since a time. */
export function sumSince(
  slices: LedgerSlices,
  since: number,
): LedgerSum & { readonly first: number | null } {
  let used = 0;
  let first: number | null = null;
  let last: number | null = null;
  for (const { slice, ends, amount } of slices.values()) {
    if (slice < since || amount === 0) continue;
    used += amount;
    first = Math.min(first ?? ends, ends);
    last = Math.max(last ?? ends, ends);
  }
  return { used: Math.min(used, LARGEST), first, last };
}

/** A height or an amount as the integer that is added up: parts of a USD, tokens, requests. */
export function unitsOf(limitType: LimitType, amount: number): number {
  const some = Math.max(0, amount);
  return limitType === "cost" ? toParts(some) : Math.ceil(some);
}
