import { priceBook } from "../../core/gateway/prices/price-book.ts";
import type { Price } from "../../core/gateway/prices/price.ts";

/** When the built-in prices were looked up. */
export const PRICED_AT: number = Date.UTC(2026, 10, 22);

const book = priceBook();

/** The built-in price of a model at a provider. */
export function priceOf(model: string, provider: string): Price | null {
  return book.find(model, provider, PRICED_AT)?.price ?? null;
}
