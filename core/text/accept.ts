/** One item of an `Accept…` header (RFC 9110, section 12.5). */
export interface AcceptedRange {
  /** In lower case, such as `text/html` or `gzip`. */
  readonly range: string;
  readonly parameters: readonly string[];
  /** 0 to 1; NaN if it is malformed, which no comparison prefers. */
  readonly quality: number;
}

/** Reads an `Accept` or `Accept-Encoding` header. */
export function acceptedRanges(header: string | null | undefined): AcceptedRange[] {
  return (header ?? "")
    .toLowerCase()
    .split(",")
    .map((one) => {
      const [range = "", ...parameters] = one.split(";").map((part) => part.trim());
      return { range, parameters, quality: Number(parameterOf("q", parameters) ?? "1") };
    });
}

export function parameterOf(name: string, parameters: readonly string[]): string | undefined {
  return parameters.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** The quality of the first of these ranges that the header names; 0 without any. */
export function qualityOf(header: string | null | undefined, ...ranges: string[]): number {
  const accepted = acceptedRanges(header);
  for (const range of ranges) {
    const found = accepted.find((one) => one.range === range);
    if (found !== undefined) return Number.isNaN(found.quality) ? 0 : found.quality;
  }
  return 0;
}
