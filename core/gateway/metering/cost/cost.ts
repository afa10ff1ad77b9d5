import type { TokenUsage } from "../../chat/usage.ts";
import { kindCost, type TextTokens } from "./kind-cost.ts";
import { type Price, type Tariff, tariffFor } from "../../prices/price.ts";

/** The caller's own prices (header `cf-aig-custom-cost`), in USD. */
export type CustomCost =
  | { readonly perTokenIn: number; readonly perTokenOut: number }
  | { readonly total: number };

const MILLION = 1_000_000;

/**
 * The cost of one request in USD, or null when its tokens or its model's price are not known, that for tokens of
 * sound included. A custom cost outranks the one that the provider tells, and that one the price; cached tokens never cost more than uncached ones, whatever the
 * price says.
 */
export function cost(usage: TokenUsage, price: Price | null, custom?: CustomCost): number | null {
  if (custom !== undefined && "total" in custom) return custom.total;
  const { tokensIn, tokensOut, toldCost } = usage;
  const isCounted = tokensIn !== null || tokensOut !== null;
  if (custom !== undefined) {
    return isCounted
      ? rounded(custom.perTokenIn * (tokensIn ?? 0) + custom.perTokenOut * (tokensOut ?? 0))
      : null;
  }
  if (toldCost !== undefined) return rounded(toldCost);
  if (!isCounted) return null;
  const amount = price === null || usage.unpriced === true ? null : priced(usage, price);
  return amount === null ? null : rounded(amount / MILLION);
}

/**
 * The least that a request costs, where {@link cost} does not know the whole. Tokens without a price of their own count
 * as text, so that a few of them do not get around a spend limit.
 */
export function leastCost(usage: TokenUsage, price: Price | null): number | null {
  const { kinds: _, unpriced: __, ...text } = usage;
  return cost(text, price);
}

/** Returns the cost by a price, or the least that it can be; null where neither is known. */
export function listedCost(usage: TokenUsage, price: Price | null): number | null {
  return cost(usage, price) ?? leastCost(usage, price);
}

function priced(usage: TokenUsage, list: Price): number | null {
  const { tokensIn, tokensOut, cachedIn, kinds } = usage;
  const input = tokensIn ?? 0;
  const price = tariffFor(input, list);
  const all = { input, output: tokensOut ?? 0, cached: Math.min(cachedIn, input) };
  if (kinds === undefined) return textCost(usage, all, price);
  const apart = kindCost(kinds, all, price);
  return apart === null ? null : apart.amount + textCost(usage, apart.text, price);
}

function textCost(
  usage: TokenUsage,
  { input, output, cached: given }: TextTokens,
  price: Tariff,
): number {
  // Counts that contradict each other must not make negative or double costs.
  const cached = Math.min(given, input);
  const written = Math.min(usage.cacheWriteIn, input - cached);
  const hour = Math.min(usage.cacheWriteHourIn ?? 0, written);
  const write = price.cacheWrite ?? price.input;
  const reasoning = Math.min(usage.reasoningOut ?? 0, output);
  return (
    (input - cached - written) * price.input +
    cached * Math.min(price.cached ?? price.input, price.input) +
    (written - hour) * write +
    hour * (price.cacheWriteHour ?? write) +
    (output - reasoning) * price.output +
    reasoning * (price.reasoning ?? price.output)
  );
}

/** A finite amount, without the noise that binary fractions leave behind the twelfth decimal. */
function rounded(usd: number): number {
  const parts = Math.round(usd * 1e12);
  // An amount too large for it has no twelfth decimal.
  return Number.isSafeInteger(parts) ? parts / 1e12 : Math.min(usd, Number.MAX_VALUE);
}
