import type { CountedRow } from "./totals.ts";

export interface RequestSeries {
  readonly family: "request";
  readonly gateway: string;
  readonly provider: string;
  readonly model: string;
  /** The HTTP status, or `none` when no answer came. */
  readonly status: string;
  readonly success: string;
  readonly cached: string;
}

/** Requests that were sent away before any provider was asked. */
interface RefusedSeries {
  readonly family: "refused";
  readonly gateway: string;
  readonly reason: string;
}

/** Attempts for the callers of one virtual key. */
interface KeySeries {
  readonly family: "key";
  readonly gateway: string;
  /** Its id. */
  readonly key: string;
}

interface DroppedSeries {
  readonly family: "dropped";
  readonly gateway: string;
}

/** A decoded key. */
export type Series = RequestSeries | KeySeries | RefusedSeries | DroppedSeries;

/** The label of a request that names no model. */
export const NO_MODEL = "none";

/** The label for series beyond the bound, and for texts that cannot be a label. */
export const OTHER = "other";

/** Parts keys. No label holds a tab: labels have no control characters. */
const SEPARATOR = "\t";

/** Returns the key of the series of an attempt; `provider` and `model` are labels. */
export function metricSeriesKey(
  gateway: string,
  provider: string,
  model: string,
  row: CountedRow,
): string {
  const status = row.statusCode === null ? "none" : String(row.statusCode);
  return `request\t${gateway}\t${provider}\t${model}\t${status}\t${row.success}\t${row.cached}`;
}

export function keyOf(series: Series): string {
  switch (series.family) {
    case "request": {
      const { family, gateway, provider, model, status, success, cached } = series;
      return [family, gateway, provider, model, status, success, cached].join(SEPARATOR);
    }
    case "key":
      return [series.family, series.gateway, series.key].join(SEPARATOR);
    case "refused":
      return [series.family, series.gateway, series.reason].join(SEPARATOR);
    case "dropped":
      return [series.family, series.gateway].join(SEPARATOR);
  }
}

/** Reads a key; null for one that a later version wrote. */
export function seriesOf(key: string): Series | null {
  const [family, gateway = "", ...rest] = key.split(SEPARATOR);
  const [first = "", model = "", status = "", success = "", cached = ""] = rest;
  if (family === "request")
    return { family, gateway, provider: first, model, status, success, cached };
  if (family === "key") return { family, gateway, key: first };
  if (family === "refused") return { family, gateway, reason: first };
  return family === "dropped" ? { family, gateway } : null;
}
