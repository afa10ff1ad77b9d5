import { expecting } from "../../http/fields/misfit.ts";
import * as v from "valibot";
import { parseInstant } from "../../http/fields/instant.ts";
import type { Price } from "./price.ts";

/** US dollars per million tokens that no price exceeds: no model costs so much, and sums stay exact. */
const MOST = 1_000_000;

const usd = v.pipe(
  v.number(expecting("a number")),
  v.minValue(0, expecting("a price of at least 0")),
  v.maxValue(MOST, `expected a price of at most ${MOST} US dollars per million tokens`),
);
const text = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(256));

/** A day or an instant with its zone; prices of a day count from its beginning (UTC). */
const instant = v.pipe(
  v.string(),
  v.check(
    (given) => parseInstant(given) !== null,
    expecting("a day (YYYY-MM-DD) or an RFC 3339 instant with its zone"),
  ),
);

/** A path segment of a provider: `openai`, `custom-lab`. */
const provider = v.pipe(
  v.string(),
  v.regex(/^[\w.-]{1,80}$/, "expected a provider as it stands in a request's path"),
);

/** The price of one model at one provider, as operators write it: US dollars per million tokens. */
export interface PriceRowSetting {
  /** Path segment. */
  readonly provider: string;
  /** As requests name it; `*` is every model of the provider that has no price of its own. */
  readonly model: string;
  /** Since when it counts: a day (UTC) or an instant. @default always */
  readonly from?: string;
  readonly input: number;
  readonly output: number;
  /** The price of cached input. @default input */
  readonly cached?: number;
  /** The price of cache writes for five minutes. @default input */
  readonly cacheWrite?: number;
  /** The price of cache writes for an hour. @default cacheWrite */
  readonly cacheWriteHour?: number;
  /** The price of reasoning tokens. @default output */
  readonly reasoning?: number;
  /** The address at which the price is published, for people. */
  readonly source?: string;
}

/** Checks one {@link PriceRowSetting}. */
export const priceRow: v.GenericSchema<unknown, PriceRowSetting> = v.strictObject({
  provider,
  model: text,
  from: v.exactOptional(instant),
  input: usd,
  output: usd,
  cached: v.exactOptional(usd),
  cacheWrite: v.exactOptional(usd),
  cacheWriteHour: v.exactOptional(usd),
  reasoning: v.exactOptional(usd),
  source: v.exactOptional(text),
});

const ROWS = 5000;

/** The setting `gateway.prices`; two rows of one model and one date would contradict each other. */
export const priceRows: v.GenericSchema<unknown, PriceRowSetting[]> = v.pipe(
  v.array(priceRow),
  v.maxLength(ROWS, `expected at most ${ROWS} prices`),
  v.check((rows) => {
    const keys = rows.map(rowKey);
    return new Set(keys).size === keys.length;
  }, "expected each provider, model and date once"),
);

export function rowKey({ provider: by, model, from }: PriceRowSetting): string {
  return `${by.toLowerCase()}\n${model.toLowerCase()}\n${startOf({ from }) ?? ""}`;
}

/** Since when a row counts, in Unix ms; null = always. */
export function startOf({ from }: { readonly from?: string | undefined }): number | null {
  return from === undefined ? null : parseInstant(from);
}

export function priceOfRow(given: PriceRowSetting): Price {
  const { input, output, cached, cacheWrite, cacheWriteHour, reasoning } = given;
  return {
    input,
    output,
    ...(cached === undefined ? {} : { cached }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(cacheWriteHour === undefined ? {} : { cacheWriteHour }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
}
