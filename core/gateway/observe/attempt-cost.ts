import type { Call, Step } from "../call/call.ts";
import type { LogRow } from "../call/ended-attempt.ts";
import type { RecordedResult } from "../call/recording.ts";
import { BYTES_PER_TOKEN, type TokenUsage } from "../chat/usage.ts";
import { cost, listedCost } from "../metering/cost/cost.ts";
import { isFree } from "../metering/cost/known-cost.ts";
import { limitsSpend } from "../metering/spend/spend.ts";
import type { Price } from "../prices/price.ts";

/** Whether anybody wants to know what a call costs, although no row says it. */
export function isCharged(call: Call): boolean {
  const { onEnded, caller, settings } = call;
  return onEnded !== undefined || caller?.grant !== undefined || limitsSpend(settings.spend_limits);
}

export interface PaidAttempt {
  readonly call: Call;
  readonly result: RecordedResult;
  readonly price: Price | null;
  /** Whether the provider's models cost nothing. */
  readonly costsNothing: boolean;
}

/** Custom prices outrank known ones; an answer from the cache costs nothing. */
export function costOf({
  call,
  result,
  price,
  costsNothing,
}: PaidAttempt): Pick<LogRow, "cost" | "customCost"> {
  const { cached, seen } = result;
  const { customCost: custom } = call.controls;
  if (cached === true) return { cost: 0, customCost: false };
  // No answer costs nothing that anybody could name; nor does a refusal unless its provider names it.
  if (seen === null || (isRefusal(result) && seen.usage.tokensIn === null))
    return { cost: null, customCost: false };
  if (costsNothing && custom === undefined) return { cost: 0, customCost: false };
  const amount = cost(seen.usage, price, custom);
  return { cost: amount, customCost: custom !== undefined && amount !== null };
}

function isRefusal({ status, seen }: RecordedResult): boolean {
  return isErrorStatus(status) || seen?.failure?.isAll === true;
}

export function isErrorStatus(status: number | null): boolean {
  return status !== null && status >= 400;
}

/**
 * Returns the amount that limits count: the cost of the row, but never less than the known price of what has passed,
 * whatever cost the caller names. Where neither is known, the known part counts. Null for nothing.
 */
export function chargeOf(
  { call, result: { seen }, price }: PaidAttempt,
  amount: number | null,
  counted: TokenUsage | null,
): number | null {
  const isWhole = counted === seen?.usage;
  const isListed = isWhole && amount !== null && call.controls.customCost === undefined;
  if (isListed || counted === null || !isCharged(call)) return amount;
  const listed = listedCost(counted, price);
  return amount === null || listed === null ? (amount ?? listed) : Math.max(amount, listed);
}

/**
 * Returns the usage that limits count; null without any. A provider reports it at the end. Where it did not, because its
 * client left or because it never does, the bytes that have passed count, and the input at four bytes per token: leaving an
 * answer early is not cheaper than reading it to its end. Of a request that is free, only what its answer tells counts.
 */
export function countedUsage(
  result: RecordedResult,
  { modelType: type, request }: Pick<LogRow, "modelType" | "request">,
  step: Step,
): TokenUsage | null {
  const { seen, complete, cached } = result;
  if (seen === null || cached === true) return null;
  const { usage, passed } = seen;
  if (isRefusal(result) || passed === undefined) return usage;
  const isTold = complete && (usage.tokensOut !== null || type === "embeddings");
  if ((isTold && usage.tokensIn !== null) || isFree(step)) return usage;
  const tokens = passed();
  if ((usage.tokensOut ?? -1) >= tokens) return usage;
  const tokensIn = usage.tokensIn ?? Math.floor(request.size / BYTES_PER_TOKEN);
  // Vectors in an answer are not tokens.
  const output = type === "embeddings" ? 0 : tokens;
  return { ...usage, tokensIn, tokensOut: isTold ? usage.tokensOut : output };
}
