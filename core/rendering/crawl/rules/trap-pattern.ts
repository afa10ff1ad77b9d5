import { parameterName, parametersOf } from "./page-identity.ts";

/** Parameters from which on an address is a choice among very many. */
const FACETS = 3;
/** How often a part of a path may stand in it: relative links of a wrong page make it longer without end. */
const REPEATS = 3;
/** A year as a number of its own, and a number that may be a month, a week or a day. */
const YEAR = /(?<!\d)(?:1[5-9]|2\d)\d\d(?!\d)/u;
const DAY = /(?<!\d)\d{1,2}(?!\d)/u;
/** A date without separators. */
const DATE = /(?<!\d)(?:1[5-9]|2\d)\d\d(?:0\d|1[0-2])(?:[0-2]\d|3[01])?(?!\d)/u;

/**
 * Returns the pattern of an address of which a site may make endlessly many: a date in a calendar, a choice of filters, or
 * a path that repeats itself. Null for any other address, such as those that differ by a number or a title.
 */
export function trapPatternOf(url: URL): string | null {
  const { host, pathname, search } = url;
  if (isRepeating(pathname)) return `${host}/**`;
  const parameters = parametersOf(url);
  if (parameters.length >= FACETS) return `${host}${pathname}?*`;
  if (!isDated(pathname + search)) return null;
  const names = parameters.map(
    (one) => `${parameterName(one)}=${masked(one.slice(parameterName(one).length + 1))}`,
  );
  return `${host}${masked(pathname)}?${names.toSorted().join("&")}`;
}

function isRepeating(pathname: string): boolean {
  const counts = new Map<string, number>();
  for (const part of pathname.split("/")) {
    if (part === "") continue;
    const count = (counts.get(part) ?? 0) + 1;
    if (count > REPEATS) return true;
    counts.set(part, count);
  }
  return false;
}

function isDated(text: string): boolean {
  return DATE.test(text) || (YEAR.test(text) && DAY.test(text));
}

function masked(text: string): string {
  return text.replaceAll(/\d+/gu, "0");
}
