import { type KindTokens, tokenKinds, type TokensByKind } from "../../chat/usage.ts";
import type { KindPrice, Tariff } from "../../prices/price.ts";

export interface TextTokens {
  readonly input: number;
  /** Tokens of `input` that came from the provider's cache. */
  readonly cached: number;
  readonly output: number;
}

/**
 * Returns the cost of tokens with prices of their own, in millionths of a USD, and the rest, which is charged as text;
 * null when a price is not known. Images and films that a model looks at cost what text does, unless its row says
 * otherwise; sound never does by itself.
 */
export function kindCost(
  kinds: TokensByKind,
  all: TextTokens,
  price: Tariff,
): { readonly amount: number; readonly text: TextTokens } | null {
  let amount = 0;
  let text = all;
  for (const kind of tokenKinds) {
    const given = kinds[kind];
    if (given === undefined) continue;
    const own = price.kinds?.[kind] ?? (kind === "audio" ? {} : asText(price));
    const [said, heard] = [outputCost(own, given, text), inputCost(own, given, text, price)];
    if (said === null || heard === null) return null;
    amount += said.amount + heard.amount;
    text = { ...heard.rest, output: said.rest };
  }
  return { amount, text };
}

function asText({ input, cached = input }: Tariff): KindPrice {
  return { input, cached };
}

function outputCost(
  { output: price }: KindPrice,
  given: KindTokens,
  { output }: TextTokens,
): { readonly amount: number; readonly rest: number } | null {
  // Counts that contradict each other must not make negative or double costs.
  const tokens = Math.min(given.out, output);
  if (tokens === 0) return { amount: 0, rest: output };
  return price === undefined ? null : { amount: tokens * price, rest: output - tokens };
}

function inputCost(
  { input: full, cached: less = full }: KindPrice,
  given: KindTokens,
  text: TextTokens,
  price: Tariff,
): { readonly amount: number; readonly rest: TextTokens } | null {
  const tokens = Math.min(given.in, text.input);
  const like = asText(price);
  if (tokens === 0 || (full === like.input && less === like.cached))
    return { amount: 0, rest: text };
  if (full === undefined || less === undefined) return null;
  // If it is not known how many of them were cached, the price must not depend on it.
  const isPlain = less === full && like.cached === like.input;
  if (given.cachedIn === null && text.cached > 0 && !isPlain) return null;
  const cached = Math.min(given.cachedIn ?? 0, tokens, text.cached);
  return {
    amount: (tokens - cached) * full + cached * Math.min(less, full),
    rest: { ...text, input: text.input - tokens, cached: text.cached - cached },
  };
}
