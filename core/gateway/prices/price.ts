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
  /** The factor of requests that stay in a region, at resellers that serve it anywhere, too. @default 1 */
  readonly regional?: number;
  /**
   * The factor of the tier `flex` for input and output of text; input from the cache costs what the list says, at the most.
   * @default 1
   */
  readonly flex?: number;
  /** The prices of the tier `priority`, for other requests than long ones. @default not known */
  readonly priority?: Pick<Tariff, "input" | "output" | "cached">;
}

/** The prices of requests of one range of lengths. */
export type Tariff = Omit<Price, "long" | "regional" | "priority" | "flex">;

/** Returns the tariff for a request with so many input tokens. */
export function tariffFor(tokensIn: number, list: Price): Tariff {
  const { long } = list;
  return long !== undefined && tokensIn > long.tokens ? long : list;
}
