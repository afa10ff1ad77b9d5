/** The usage of models over all gateways of an account. */
export interface AccountUsage {
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** US dollars. */
  readonly usd: number;
}

const SAMPLE = /^causey_gateway_(tokens|cost_usd)_total\{(.*)\} (\S+)$/gm;

/** The sums of an account's metrics, as a scraper reads them. */
export function accountUsage(exposition: string): AccountUsage {
  const sums = { tokensIn: 0, tokensOut: 0, usd: 0 };
  for (const [, family, labels = "", value] of exposition.matchAll(SAMPLE)) {
    if (family === "cost_usd") sums.usd += Number(value);
    else if (labels.endsWith('type="input"')) sums.tokensIn += Number(value);
    else sums.tokensOut += Number(value);
  }
  return sums;
}
