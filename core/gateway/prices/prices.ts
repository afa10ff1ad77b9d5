import type { Price } from "./price.ts";
import file from "./prices.json" with { type: "json" };

export interface ListedPrice extends Price {
  /** The model's name without its date, in lower case. */
  readonly model: string;
}

/** Some of one family's prices, and where they come from. */
export interface PriceList {
  /** Families, not path segments: several providers sell the same model (see `model-spellings.ts`). */
  readonly family: string;
  readonly models: readonly ListedPrice[];
  /** The address of the published list; the notes in the file say how it was read. */
  readonly source: string;
  /** The day on which it was last looked up. */
  readonly checked: string;
  /** The day from which on it counts, where that was published beforehand. @default always */
  readonly from?: string;
  /** The factor of the tier `flex` for all models of the list. @default 1 */
  readonly flex?: number;
}

/**
 * Published list prices (standard tier) by the family of models. They are estimates, not bills:
 * from providers' price pages and changelogs where these could be read, else from open price tables that quote them. Some
 * rows rest on one source, and a few of older models were not looked up again. Models whose sources contradict each other
 * have no row, nor have prices that a table cannot express: DeepSeek charges by the hour of the day.
 */
export const priceLists: readonly PriceList[] = file.lists;
