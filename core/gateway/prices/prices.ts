import type { PriceTable } from "./price.ts";
import { anthropicPrices } from "./prices-anthropic.ts";
import { googlePrices, googlePricesOf2027 } from "./prices-google.ts";
import { openaiPrices, openaiVoicePrices } from "./prices-openai.ts";
import {
  cerebrasPrices,
  coherePrices,
  groqPrices,
  mistralPrices,
  perplexityPrices,
  xaiPrices,
} from "./prices-others.ts";

/** The day up to which published price lists went into {@link priceLists}. They are estimates, not bills. */
export const PRICES_DATE: string = "2026-11-21";

/** Some of one family's prices, and where they come from. */
export interface PriceList {
  /** Families, not path segments: several providers sell the same model (see `model-names.ts`). */
  readonly family: string;
  readonly table: PriceTable;
  /** The address of the published list; the notes beside each table say how it was read. */
  readonly source: string;
  /** The day on which it was last looked up. */
  readonly checked: string;
  /** The day from which on it counts, where that was published beforehand. @default always */
  readonly from?: string;
}

/**
 * Published list prices (standard tier) by the family of models, then by the model's name. They are from providers' price
 * pages and changelogs where these could be read, else from open price tables that quote them. Some rows rest on one
 * source, and a few of older models were not looked up again. Models whose sources contradict each other have no row, nor
 * have prices that a table cannot express: DeepSeek charges by the hour of the day.
 */
export const priceLists: readonly PriceList[] = [
  {
    family: "openai",
    table: openaiPrices,
    source: "https://platform.openai.com/docs/pricing",
    checked: PRICES_DATE,
  },
  {
    family: "openai",
    table: openaiVoicePrices,
    source: "https://platform.openai.com/docs/models",
    checked: PRICES_DATE,
  },
  {
    family: "anthropic",
    table: anthropicPrices,
    source: "https://docs.anthropic.com/en/docs/about-claude/pricing",
    checked: PRICES_DATE,
  },
  {
    family: "google",
    table: googlePrices,
    source: "https://ai.google.dev/gemini-api/docs/pricing",
    checked: "2026-10-31",
  },
  {
    family: "google",
    table: googlePricesOf2027,
    source: "https://ai.google.dev/gemini-api/docs/pricing",
    checked: "2026-10-31",
    from: "2027-01-01",
  },
  {
    family: "mistral",
    table: mistralPrices,
    source: "https://mistral.ai/pricing",
    checked: PRICES_DATE,
  },
  { family: "groq", table: groqPrices, source: "https://groq.com/pricing", checked: PRICES_DATE },
  {
    family: "xai",
    table: xaiPrices,
    source: "https://docs.x.ai/docs/models",
    checked: PRICES_DATE,
  },
  {
    family: "perplexity",
    table: perplexityPrices,
    source: "https://docs.perplexity.ai/getting-started/pricing",
    checked: PRICES_DATE,
  },
  {
    family: "cohere",
    table: coherePrices,
    source: "https://cohere.com/pricing",
    checked: PRICES_DATE,
  },
  {
    family: "cerebras",
    table: cerebrasPrices,
    source: "https://inference-docs.cerebras.ai/models/overview",
    checked: PRICES_DATE,
  },
];
