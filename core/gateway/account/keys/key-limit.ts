import * as v from "valibot";
import { formatUsd } from "../../metering/cost/usd.ts";
import type { Limit } from "../../metering/spend/ledger.ts";

const LONGEST_WINDOW = 366 * 24 * 3600;
const MOST_LIMITS = 20;

const window = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LONGEST_WINDOW));
const common = {
  window: v.optional(v.nullable(window), null),
  technique: v.optional(v.picklist(["fixed", "sliding"]), "fixed"),
};
const whole = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000_000_000));

/** The schema of a key's limits; two that count the same would be one. */
export const keyLimits: v.GenericSchema<unknown, readonly Limit[]> = v.pipe(
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
export function ruleOf({ limitType, window: seconds, technique }: Limit): string {
  return `${limitType}/${seconds ?? "life"}/${technique}`;
}

/** Describes a limit, for people. */
export function describeLimit({ limitType, limit, window: seconds }: Limit): string {
  const amount = limitType === "cost" ? `${formatUsd(limit)} USD` : `${limit} ${limitType}`;
  return seconds === null ? `${amount} in all` : `${amount} per ${seconds} s`;
}
