import type { PriceTable } from "./price.ts";
import { anthropicPrices } from "./prices-anthropic.ts";
import { googlePrices } from "./prices-google.ts";
import { openaiPrices, openaiVoicePrices } from "./prices-openai.ts";
import {
  cerebrasPrices,
  coherePrices,
  groqPrices,
  mistralPrices,
  perplexityPrices,
  xaiPrices,
} from "./prices-others.ts";

/** The day up to which published price lists went into {@link prices}. They are estimates, not bills. */
export const PRICES_DATE: string = "2026-11-21";

/**
 * Published list prices (standard tier) by the family of models, then by the model's name: from providers' price
 * pages and changelogs as far as they could be read, else from open price tables. Some rows rest on one source, and a
 * few of older models were not looked up again. Where sources contradict each other there is no row, nor is there for
 * what a table cannot say: DeepSeek charges by the hour of the day. Families, not path segments: several providers
 * sell the same model (see `price-of.ts`).
 */
export const prices: Readonly<Record<string, PriceTable>> = {
  openai: { ...openaiPrices, ...openaiVoicePrices },
  anthropic: anthropicPrices,
  google: googlePrices,
  mistral: mistralPrices,
  groq: groqPrices,
  xai: xaiPrices,
  perplexity: perplexityPrices,
  cohere: coherePrices,
  cerebras: cerebrasPrices,
};
