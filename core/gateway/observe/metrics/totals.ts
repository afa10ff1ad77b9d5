import { HIGHEST_COST } from "../../metering/ledger/usd.ts";
import { bucketOf } from "../../../http/metrics-format.ts";
import type { LogRow } from "../../call/ended-attempt.ts";

/** The sums of a series. Plain data, because they cross to the account's actor. */
export type Totals = {
  count: number;
  tokensIn: number;
  tokensOut: number;
  /** US dollars. */
  cost: number;
  /** Milliseconds. */
  duration: number;
  /** How many durations are above the bound before and not above this one, of {@link durationBounds}; at last those above all. */
  readonly buckets: number[];
};

/** Upper bounds of durations in seconds, as OpenTelemetry has them for `gen_ai.client.operation.duration`. */
export const durationBounds: readonly number[] = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

export type CountedRow = Pick<
  LogRow,
  | "provider"
  | "model"
  | "statusCode"
  | "success"
  | "cached"
  | "duration"
  | "tokensIn"
  | "tokensOut"
  | "cost"
> &
  Partial<Pick<LogRow, "caller">>;

/** Nothing yet. */
export function noTotals(): Totals {
  return { count: 0, tokensIn: 0, tokensOut: 0, cost: 0, duration: 0, buckets: [] };
}

export function addRow(totals: Totals, { duration, tokensIn, tokensOut, cost }: CountedRow): void {
  const { buckets } = totals;
  while (buckets.length <= durationBounds.length) buckets.push(0);
  const at = bucketOf(durationBounds, duration);
  buckets[at] = (buckets[at] ?? 0) + 1;
  totals.count += 1;
  totals.tokensIn += tokensIn ?? 0;
  totals.tokensOut += tokensOut ?? 0;
  totals.cost += Math.min(cost ?? 0, HIGHEST_COST);
  totals.duration += duration;
}

export function sumOf(one: Totals, other: Totals | undefined): Totals {
  if (other === undefined) return one;
  const length = Math.max(one.buckets.length, other.buckets.length);
  return {
    count: one.count + other.count,
    tokensIn: one.tokensIn + other.tokensIn,
    tokensOut: one.tokensOut + other.tokensOut,
    cost: one.cost + other.cost,
    duration: one.duration + other.duration,
    buckets: Array.from({ length }, (_, at) => (one.buckets[at] ?? 0) + (other.buckets[at] ?? 0)),
  };
}
