import type { Price, Tariff } from "./price.ts";

/** The place that a path at Vertex AI names. */
const VERTEX_PLACE = /(?:^|\/)locations\/([^/]+)\//;

/**
 * Whether a request stays in a region or a geography, where the provider also serves it anywhere: at Amazon by its model's
 * name (https://docs.aws.amazon.com/bedrock/latest/userguide/global-cross-region-inference.html), at Google by its path
 * `rest` (https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai).
 */
export function isRegional(model: string, provider: string, rest: string): boolean {
  if (provider === "aws-bedrock") return !/(?:^|\/|%2f)global\./i.test(model);
  if (provider !== "google-vertex-ai") return false;
  const place = VERTEX_PLACE.exec(rest)?.[1];
  return place !== undefined && place !== "global";
}

/** Returns the price of a request that stays in a region; the same price where the row has no factor for it. */
export function regionalPrice(price: Price): Price {
  const { regional: factor } = price;
  return factor === undefined ? price : timesPrice(price, factor);
}

export function timesPrice(price: Price, factor: number): Price {
  const { regional: _, long, priority: __, flex, ...tariff } = price;
  return {
    ...times(tariff, factor),
    ...(flex === undefined ? {} : { flex }),
    ...(long === undefined ? {} : { long: { ...times(long, factor), tokens: long.tokens } }),
  };
}

/** Returns the price of the tier `flex`. */
export function flexPrice(price: Price, factor: number): Price {
  const { long } = price;
  const lower = ({ input, output }: Tariff): Pick<Tariff, "input" | "output"> => ({
    input: rounded(input * factor),
    output: rounded(output * factor),
  });
  return {
    ...price,
    ...lower(price),
    // Without a price of their own these cost what the list says, too.
    cacheWrite: price.cacheWrite ?? price.input,
    reasoning: rounded((price.reasoning ?? price.output) * factor),
    ...(long === undefined ? {} : { long: { ...long, ...lower(long) } }),
  };
}

function times({ kinds, ...amounts }: Tariff, factor: number): Tariff {
  const scaled = <T extends object>(given: T): T =>
    // `as`: every member of both is an amount.
    Object.fromEntries(
      Object.entries(given).map(([name, amount]) => [name, rounded(Number(amount) * factor)]),
    ) as T;
  const apart = Object.entries(kinds ?? {}).map(([kind, own]) => [kind, scaled(own)]);
  return {
    ...scaled(amounts),
    ...(kinds === undefined ? {} : { kinds: Object.fromEntries(apart) }),
  };
}

/** An amount without the noise of binary fractions. */
function rounded(usd: number): number {
  return Number(usd.toFixed(9));
}
