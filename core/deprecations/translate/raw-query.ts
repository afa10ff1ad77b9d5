/** One parameter of a query, with its exact text, so that an unchanged parameter stays byte for byte. */
export interface RawParameter {
  /** The text as sent, e.g. `name=a%2Cb`. */
  readonly raw: string;
  readonly rawValue: string;
  readonly name: string;
  readonly value: string;
}

/** Whether a raw query has more parameters than `limit`. */
export function hasMoreParameters(query: string, limit: number): boolean {
  // Most queries are shorter than so many separators.
  return query.length >= limit && query.split("&", limit + 1).length > limit;
}

/** Splits a raw query. Escapes that are not UTF-8 are taken as they stand. */
export function parseRawQuery(query: string): RawParameter[] {
  return query.split("&").map((raw) => {
    const equals = raw.indexOf("=");
    const rawValue = equals === -1 ? "" : raw.slice(equals + 1);
    const name = decode(equals === -1 ? raw : raw.slice(0, equals));
    return { raw, rawValue, name, value: decode(rawValue) };
  });
}

/** The raw query of parameters. */
export function joinParameters(parameters: readonly RawParameter[]): string {
  return parameters.map(({ raw }) => raw).join("&");
}

function decode(text: string): string {
  return /[%+]/.test(text) ? withoutEscapes(text.replaceAll("+", " ")) : text;
}

/** A text without its escapes; one whose escapes are not UTF-8 as it stands. */
export function withoutEscapes(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The raw text after the first colon, however that was sent; the value must have one. */
export function afterColon(rawValue: string): string {
  return rawValue.replace(/^.*?(?::|%3a)/i, "");
}

/** The non-empty parts between commas, however those were sent, still in their raw form. */
export function betweenCommas(rawValue: string): string[] {
  return rawValue.split(/,|%2c/i).filter((part) => part !== "" && decode(part).trim() !== "");
}
