import type { NamedTariff, TokenUsage } from "../../chat/usage.ts";
import { askedTariff, tariffPrice, type TariffRequest } from "../../prices/asked-tariff.ts";
import type { PriceBook } from "../../prices/price-book.ts";
import type { Price, Tariff } from "../../prices/price.ts";
import { furtherModels, type NamedModels } from "../../providers/named-models.ts";
import { leastCost } from "./cost.ts";

/** The facts that the price of a request depends on. */
export interface PricedRequest extends TariffRequest {
  readonly slug: string;
  /** Path behind the provider, which can name a region. */
  readonly rest: string;
  /** The model that the request names as its own. */
  readonly model: string;
}

/** The price of a request, or the model of which none is known. */
export interface RequestPrice {
  readonly price: Price | null;
  /** The request's own model, empty where it cannot be read; that without a price where one has none. */
  readonly model: string;
  /** The models that the request names to fall back on; null where they cannot be read. */
  readonly further: readonly string[] | null;
  /** The member that asks for a dearer tariff whose price is not known; null for none. */
  readonly unpricedTariff: NamedTariff["member"] | null;
}

/**
 * Finds the highest price of a request: each figure is the dearest among its model and those that it names to fall back
 * on.
 */
export function requestPrice(
  { slug, rest, model, ...sent }: PricedRequest,
  prices: PriceBook,
  now: number,
): RequestPrice {
  const asked = askedTariff(sent);
  let unpricedTariff: NamedTariff["member"] | null = null;
  const priceOf = (name: string): Price | null => {
    const listed = prices.find(name, slug, now, rest)?.price ?? null;
    if (listed === null || asked === null) return listed;
    const price = tariffPrice(listed, asked, slug);
    if (price === null) unpricedTariff = asked.member;
    return price ?? listed;
  };
  const further = furtherModels(sent.json, slug, model);
  let price = priceOf(model);
  if (price !== null) {
    for (const name of further ?? []) {
      const other = priceOf(name);
      if (other === null) return { model: name, price: null, further, unpricedTariff };
      price = dearer(price, other);
    }
  }
  return { model, price, further, unpricedTariff };
}

/** The facts that the price of an answer depends on. */
export interface PricedAnswer extends NamedModels {
  /** Path behind the provider, as that of {@link PricedRequest}. */
  readonly rest: string;
  readonly model: string;
  /** Null for none. */
  readonly usage: TokenUsage | null;
  /** Unix ms. */
  readonly at: number;
  /** The tariffs by which it was served, one after the other; empty for the list price. */
  readonly tariffs: readonly NamedTariff[];
}

/**
 * The price of an answer: of the models that it names and the one that was asked the dearest for this usage; where it names
 * none, of all that the request names. Null where none is known.
 */
export function answerPrice(
  { slug, rest, model: asked, further, usage, at, tariffs }: PricedAnswer,
  prices: PriceBook,
): Price | null {
  if (usage === null) return null;
  const priceOf = (name: string): Price | null => {
    const listed = prices.find(name, slug, at, rest)?.price ?? null;
    return listed === null
      ? null
      : tariffs.reduce((price, one) => tariffPrice(price, one, slug) ?? price, listed);
  };
  const others = usage.models ?? further ?? [];
  let dearest = priceOf(asked);
  let most = others.length === 0 ? 0 : (leastCost(usage, dearest) ?? 0);
  for (const model of others) {
    const price = priceOf(model);
    const cost = leastCost(usage, price) ?? 0;
    if (price !== null && (dearest === null || cost > most)) [dearest, most] = [price, cost];
  }
  return dearest;
}

/** A price with the higher of each figure; of long inputs and of other tokens than text, that of the dearer output. */
function dearer(a: Price, b: Price): Price {
  const [one, other] = [highest(a), highest(b)];
  const write = Math.max(writing(one), writing(other));
  return {
    ...(other.output > one.output ? other : one),
    input: Math.max(one.input, other.input),
    output: Math.max(one.output, other.output),
    cached: Math.max(one.cached ?? one.input, other.cached ?? other.input),
    cacheWrite: write,
    cacheWriteHour: Math.max(write, one.cacheWriteHour ?? 0, other.cacheWriteHour ?? 0),
    reasoning: Math.max(one.reasoning ?? one.output, other.reasoning ?? other.output),
  };
}

/** The price of inputs of any length: no request is dearer. */
function highest({ long, ...price }: Price): Tariff {
  if (long === undefined) return price;
  const { tokens: _, ...dear } = long;
  return dear.output >= price.output ? dear : price;
}

function writing({ cacheWrite, input }: Tariff): number {
  return cacheWrite ?? input;
}
