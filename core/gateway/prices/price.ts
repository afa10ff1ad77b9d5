import type { TokenKind } from "../chat/usage.ts";

/** Prices of tokens other than text, in USD per million; absent = not known. */
export interface KindPrice {
  readonly input?: number;
  /** Input from the provider's cache. @default input */
  readonly cached?: number;
  readonly output?: number;
}

/** The price of a model, in USD per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input from the provider's cache. @default input */
  readonly cached?: number;
  /** Input written to the provider's cache. @default input */
  readonly cacheWrite?: number;
  /** Input written to the provider's cache for an hour. @default cacheWrite */
  readonly cacheWriteHour?: number;
  /** Output spent on reasoning. @default output */
  readonly reasoning?: number;
  /** Prices of tokens other than text. @default sound: not known; images and films: as text for input, else not known */
  readonly kinds?: Readonly<Partial<Record<TokenKind, KindPrice>>>;
  /** Prices of a request whose input is longer than `tokens`. @default the same */
  readonly long?: Tariff & { readonly tokens: number };
}

/** The prices of requests of one range of lengths. */
export type Tariff = Omit<Price, "long">;

/** Returns the tariff for a request with so many input tokens. */
export function tariffFor(tokensIn: number, list: Price): Tariff {
  const { long } = list;
  return long !== undefined && tokensIn > long.tokens ? long : list;
}

/** The prices of one family, by the model's name without its date. */
export type PriceTable = Readonly<Record<string, Price>>;

/** `input`, `output`, then `cached` and `cacheWrite` where the provider has them. */
export type PriceRow = readonly [
  input: number,
  output: number,
  cached?: number,
  cacheWrite?: number,
];

/** One row as a price. */
export function price([input, output, cached, cacheWrite]: PriceRow): Price {
  return {
    input,
    output,
    ...(cached === undefined ? {} : { cached }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  };
}

/** Many models of one price each. */
export function rows(table: Readonly<Record<string, PriceRow>>): PriceTable {
  return Object.fromEntries(Object.entries(table).map(([model, row]) => [model, price(row)]));
}

/** Many models with a higher price for the whole of a request whose input is longer than `tokens`. */
export function tiered(
  tokens: number,
  table: Readonly<Record<string, readonly [short: PriceRow, long: PriceRow]>>,
): PriceTable {
  return Object.fromEntries(
    Object.entries(table).map(([model, [short, long]]) => [
      model,
      { ...price(short), long: { ...price(long), tokens } },
    ]),
  );
}

/** Returns the same models, with audio input at the price of text input. */
export function withAudioAtInputPrice(table: PriceTable): PriceTable {
  const withAudio = <P extends Tariff>(given: P): P => {
    const { input, cached = input } = given;
    return { ...given, kinds: { audio: { input, cached } } };
  };
  return Object.fromEntries(
    Object.entries(table).map(([model, { long, ...given }]) => [
      model,
      { ...withAudio(given), ...(long === undefined ? {} : { long: withAudio(long) }) },
    ]),
  );
}

/** Returns the prices of a model that takes audio, and maybe images. */
export function voicePrice(text: PriceRow, audio: KindPrice, image?: KindPrice): Price {
  return { ...price(text), kinds: { audio, ...(image === undefined ? {} : { image }) } };
}
