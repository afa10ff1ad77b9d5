const NUMBER = /^\d+(?:\.\d+)?$/;
/** The forms of an HTTP date that name their zone (RFC 9110, section 5.6.7). `Date.parse` takes almost anything for a date, "-1" too. */
const DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -](?:\d{2}|\d{4}) \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3) as milliseconds from `now`; null without one, and for anything that is neither
 * seconds nor a date. Fractions of a second are read, for some APIs send them. The caller bounds the wait.
 */
export function retryAfterMs(value: string | null | undefined, now: number): number | null {
  const text = value?.trim() ?? "";
  if (NUMBER.test(text)) return Number(text) * 1000;
  const at = DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** Returns the header that says when to try again, in `wait` ms: whole seconds, rounded up. */
export function retryAfter(wait: number): { readonly "retry-after": string } {
  return { "retry-after": String(Math.ceil(wait / 1000)) };
}
