import * as v from "valibot";
import { formatUsd, toParts } from "../../metering/cost/usd.ts";
import type { LedgerSlice } from "../../metering/spend/ledger.ts";

/** What a limit of a virtual key counts: USD, tokens in and out, or requests. */
export type LimitType = "cost" | "tokens" | "requests";

/** One limit of a virtual key. A type: it crosses to the keys' actor. */
export type KeyLimit = {
  readonly limitType: LimitType;
  readonly limit: number;
  /** Seconds; null = as long as the key lives. */
  readonly window: number | null;
  readonly technique: "fixed" | "sliding";
};

const LONGEST_WINDOW = 366 * 24 * 3600;
const MOST_LIMITS = 20;
/** A sliding window moves in steps of a thousandth of itself, and at least of a millisecond. */
const SLICES = 1000;
/** The last instant that a date can name. */
const NEVER = 8_640_000_000_000_000;

const window = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LONGEST_WINDOW));
const common = {
  window: v.optional(v.nullable(window), null),
  technique: v.optional(v.picklist(["fixed", "sliding"]), "fixed"),
};
const whole = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000_000_000));

/** The schema of a key's limits; two that count the same would be one. */
export const keyLimits: v.GenericSchema<unknown, readonly KeyLimit[]> = v.pipe(
  v.array(
    v.variant("limitType", [
      v.object({
        limitType: v.literal("cost"),
        limit: v.pipe(v.number(), v.minValue(0), v.maxValue(100_000)),
        ...common,
      }),
      v.object({ limitType: v.literal("tokens"), limit: whole, ...common }),
      v.object({ limitType: v.literal("requests"), limit: whole, ...common }),
    ]),
  ),
  v.maxLength(MOST_LIMITS, `at most ${MOST_LIMITS} limits are allowed`),
  v.check(
    (limits) => new Set(limits.map(ruleOf)).size === limits.length,
    "expected one limit for each limitType, window and technique",
  ),
);

/** Names what a limit counts, whatever its height: raising it does not begin a new count. */
export function ruleOf({ limitType, window: seconds, technique }: KeyLimit): string {
  return `${limitType}/${seconds ?? "life"}/${technique}`;
}

/** A height or an amount as the integer that is added up: parts of a USD, tokens, requests. */
export function unitsOf(limitType: LimitType, amount: number): number {
  return limitType === "cost" ? toParts(amount) : Math.ceil(amount);
}

/** Where a limit counts at `now`, in Unix ms. */
export function sliceAt(limit: KeyLimit, now: number): Omit<LedgerSlice, "owner"> {
  const rule = ruleOf(limit);
  if (limit.window === null) return { rule, slice: 0, since: 0, ends: NEVER };
  const length = limit.window * 1000;
  if (limit.technique === "fixed") {
    const slice = now - (now % length);
    return { rule, slice, since: slice, ends: slice + length };
  }
  const step = Math.max(1, Math.floor(length / SLICES));
  const slice = now - (now % step);
  // A slice counts until the last moment of it has left the window.
  return { rule, slice, since: slice - length, ends: slice + step + length };
}

/** What a limit allows, for people. */
export function describeLimit({ limitType, limit, window: seconds }: KeyLimit): string {
  const amount = limitType === "cost" ? `${formatUsd(limit)} USD` : `${limit} ${limitType}`;
  return seconds === null ? `${amount} in all` : `${amount} per ${seconds} s`;
}
