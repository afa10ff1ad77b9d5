/** Kinds of tokens that some providers count, and price, apart from text. */
export const tokenKinds: readonly ["audio", "image", "video"] = ["audio", "image", "video"];

/** One of {@link tokenKinds}. */
export type TokenKind = (typeof tokenKinds)[number];

/** Tokens of one kind, which are among all the others that are counted. */
export interface KindTokens {
  readonly in: number;
  /** The part of `in` that came from the provider's cache; null when it is unknown. */
  readonly cachedIn: number | null;
  readonly out: number;
}

export type TokensByKind = Readonly<Partial<Record<TokenKind, KindTokens>>>;

/** A report on tokens of one kind; null for unreported numbers. */
export interface KindReport {
  readonly in: number | null;
  readonly cachedIn: number | null;
  readonly out: number | null;
}

/** Merges a report into the known usage, kind by kind; undefined while all tokens are text. */
export function withReport(
  known: TokensByKind | undefined,
  reportOf: (kind: TokenKind) => KindReport,
): TokensByKind | undefined {
  let all: Partial<Record<TokenKind, KindTokens>> | undefined;
  for (const kind of tokenKinds) {
    const before = known?.[kind];
    const now = reportOf(kind);
    const tokensIn = now.in ?? before?.in ?? 0;
    const tokensOut = now.out ?? before?.out ?? 0;
    if (tokensIn === 0 && tokensOut === 0) continue;
    all ??= {};
    all[kind] = {
      in: tokensIn,
      cachedIn: now.cachedIn ?? before?.cachedIn ?? null,
      out: tokensOut,
    };
  }
  return all;
}

/** Returns the tokens of two reports together. */
export function sumOfKinds(
  a: TokensByKind | undefined,
  b: TokensByKind | undefined,
): TokensByKind | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return withReport(undefined, (kind) => {
    const [one, other] = [a[kind] ?? none, b[kind] ?? none];
    const cachedIn =
      one.cachedIn === null || other.cachedIn === null ? null : one.cachedIn + other.cachedIn;
    return { in: one.in + other.in, cachedIn, out: one.out + other.out };
  });
}

const none: KindTokens = { in: 0, cachedIn: 0, out: 0 };

/** A tariff by the member of a request that asks for it. */
export interface NamedTariff {
  readonly member: "service_tier" | "inference_geo";
  readonly value: string;
}

/** Tokens that a request used, as far as the provider has said so. */
export interface TokenUsage {
  /** All input tokens, cached and cache-writing ones included. */
  readonly tokensIn: number | null;
  /** All output tokens, reasoning ones included. */
  readonly tokensOut: number | null;
  /** Input tokens that came from the provider's cache. */
  readonly cachedIn: number;
  /** Input tokens that were written to the provider's cache. */
  readonly cacheWriteIn: number;
  /** Those of `cacheWriteIn` that the provider keeps for an hour, at a higher price. @default 0 */
  readonly cacheWriteHourIn?: number;
  /** Output tokens that were spent on reasoning. @default 0 */
  readonly reasoningOut?: number;
  /** The tokens other than text, by kind, where the provider reports them. @default none */
  readonly kinds?: TokensByKind;
  /** The cost in USD that the provider itself tells; it outranks prices. @default not told */
  readonly toldCost?: number;
  /** The models that the answer names, where it may be another one than was asked. @default not looked at */
  readonly models?: readonly string[];
  /** The tariffs by which the provider says that it has served. @default not told */
  readonly served?: readonly NamedTariff[];
  /** Whether something else was used that these tokens do not tell the price of. @default no */
  readonly unpriced?: true;
}

/** Nothing known. */
export const noUsage: TokenUsage = {
  tokensIn: null,
  tokensOut: null,
  cachedIn: 0,
  cacheWriteIn: 0,
};

/** Bytes of a request that make about one token. */
export const BYTES_PER_TOKEN = 4;

/** Tokens that one figure can report: far more than any model takes, and sums of them stay exact everywhere. */
const MOST = 500_000_000;

/** Returns a count of tokens; null for anything else, so that a provider cannot cause a row or cost beyond all bounds. */
export function tokenCount(value: unknown): number | null {
  const isCount = typeof value === "number" && Number.isInteger(value);
  return isCount && value >= 0 && value <= MOST ? value : null;
}

/** Adds up the usage of two requests. */
export function sumOfUsage(a: TokenUsage, b: TokenUsage): TokenUsage {
  const hour = (a.cacheWriteHourIn ?? 0) + (b.cacheWriteHourIn ?? 0);
  const reasoning = (a.reasoningOut ?? 0) + (b.reasoningOut ?? 0);
  return {
    tokensIn: sum(a.tokensIn, b.tokensIn),
    tokensOut: sum(a.tokensOut, b.tokensOut),
    cachedIn: a.cachedIn + b.cachedIn,
    cacheWriteIn: a.cacheWriteIn + b.cacheWriteIn,
    ...(hour === 0 ? {} : { cacheWriteHourIn: hour }),
    ...(reasoning === 0 ? {} : { reasoningOut: reasoning }),
    ...ofKinds(sumOfKinds(a.kinds, b.kinds)),
    ...(a.unpriced === true || b.unpriced === true ? { unpriced: true } : {}),
  };
}

/** Adds the known numbers; null when both are unknown. */
export function sum(a: number | null, b: number | null): number | null {
  return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
}

/** Returns the member `kinds`, where there are any. */
export function ofKinds(kinds: TokensByKind | undefined): Pick<TokenUsage, "kinds"> {
  return kinds === undefined ? {} : { kinds };
}

/** Returns the member `reasoningOut`, as counted now or known before. */
export function reasoned(
  counted: number | null,
  usage: TokenUsage,
): Pick<TokenUsage, "reasoningOut"> {
  const known = counted ?? usage.reasoningOut ?? 0;
  return known === 0 ? {} : { reasoningOut: known };
}
