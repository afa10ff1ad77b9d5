/** Parts of a USD in which amounts are added up: integers, so that a sum does not depend on its order. */
const PARTS = 1e10;

/** An amount in USD as an integer number of 10⁻¹⁰ USD; exact up to 900 000 USD. */
export function toParts(usd: number): number {
  return Math.min(Math.round(usd * PARTS), Number.MAX_SAFE_INTEGER);
}

/** An amount in USD for people, without an exponent. */
export function formatUsd(usd: number): string {
  return usd.toFixed(10).replace(/\.?0+$/, "");
}
