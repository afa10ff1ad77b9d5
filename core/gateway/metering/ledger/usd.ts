/** Parts of a USD in which amounts are added up: integers, so that a sum does not depend on its order. */
const PARTS = 1e10;

/**
 * The highest amount that counts, in USD: twice the highest limit, and a small part of the largest sum that is read. Callers
 * name costs, and sums stay finite.
 */
export const HIGHEST_COST = 200_000;

/**
 * An amount in USD as an integer number of 10⁻¹⁰ USD; exact up to 200 000 USD, which is also the most. Callers can name
 * costs, and one huge entry must not swallow in a sum what others have spent.
 */
export function toParts(usd: number): number {
  return Math.round(Math.min(usd, HIGHEST_COST) * PARTS);
}

/** The amount of so many parts. */
export function fromParts(parts: number): number {
  return parts / PARTS;
}

/** An amount in USD for people, without an exponent. */
export function formatUsd(usd: number): string {
  return usd.toFixed(10).replace(/\.?0+$/, "");
}
