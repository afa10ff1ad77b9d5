import { misfitText } from "../../../core/http/fields/misfit.ts";
import * as v from "valibot";
import type { PriceBook } from "../../../core/gateway/prices/price-book.ts";
import {
  type PriceRowSetting,
  priceOfRow,
  priceRows,
  startOf,
} from "../../../core/gateway/prices/price-rows.ts";
import type { Price } from "../../../core/gateway/prices/price.ts";
import { table } from "./output.ts";

/** A figure that rows of prices give. */
type Figure = "input" | "output" | "cached" | "cacheWrite" | "cacheWriteHour" | "reasoning";

/** A figure of a price that another list gives otherwise. */
export interface PriceDifference {
  readonly provider: string;
  readonly model: string;
  /** Since when the row of the list counts; null = always. */
  readonly from: string | null;
  readonly figure: Figure;
  /** US dollars per million tokens; null = no price is known. */
  readonly here: number | null;
  /** As the list has it. */
  readonly there: number;
}

/** The figures of a price as they count, where a row leaves some out. */
const figures: Readonly<Record<Figure, (price: Price) => number>> = {
  input: ({ input }) => input,
  output: ({ output }) => output,
  cached: ({ input, cached = input }) => cached,
  cacheWrite: ({ input, cacheWrite = input }) => cacheWrite,
  cacheWriteHour: ({ input, cacheWrite = input, cacheWriteHour = cacheWrite }) => cacheWriteHour,
  reasoning: ({ output, reasoning = output }) => reasoning,
};

/** Reads a list of prices from JSON: an array of rows as in `gateway.prices`. Throws a line that names the first fault. */
export function parsePriceList(file: string, text: string): PriceRowSetting[] {
  const list = v.pipe(v.string(), v.parseJson(undefined, "it does not hold JSON"), priceRows);
  const { success, output, issues } = v.safeParse(list, text);
  if (success) return output;
  throw new TypeError(`"${file}": ${misfitText(issues)}`);
}

/** Compares each figure that a list gives with the price in use, at the row's own date or `now` (Unix ms). */
export function priceDifferences(
  list: readonly PriceRowSetting[],
  book: PriceBook,
  now: number,
): PriceDifference[] {
  return list.flatMap((row) => {
    const { provider, model, from = null } = row;
    const given = priceOfRow(row);
    const used = book.find(model, provider, Math.max(now, startOf(row) ?? now))?.price ?? null;
    return names.flatMap((figure) => {
      const there = given[figure];
      const here = used === null ? null : figures[figure](used);
      return there === undefined || there === here
        ? []
        : [{ provider, model, from, figure, here, there }];
    });
  });
}

// `as`: the record has no further names.
const names = Object.keys(figures) as Figure[];

/** Formats differences as lines for people. */
export function differenceTable(found: readonly PriceDifference[]): string {
  const head = ["PROVIDER", "MODEL", "FROM", "FIGURE", "HERE", "THERE"];
  const rows = found.map(({ provider, model, from, figure, here, there }) => [
    provider,
    model,
    from,
    figure,
    here,
    there,
  ]);
  return table(head, rows);
}
