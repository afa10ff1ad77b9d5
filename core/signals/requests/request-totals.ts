import { bucketOf } from "../../http/metrics-format.ts";
import { type RequestRow, verbOf } from "./request-row.ts";

/** The sums of a series of requests. Plain, because it crosses to an actor. */
export type RequestTotals = {
  count: number;
  /** Milliseconds. */
  ms: number;
  bytes: number;
  /**
   * Counts of requests that took longer than the previous bound and not longer than this one, of {@link secondBounds};
   * at last those above all.
   */
  readonly buckets: number[];
};

/** The growth of one series of an account; the key is that of {@link accountKey}. */
export type RequestDelta = readonly [key: string, totals: RequestTotals];

/** Upper bounds of durations in seconds: OpenTelemetry's for `http.server.request.duration`, and two below them. */
export const secondBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

/** The key of a request's series: as many as there are routes, methods and statuses. */
export function seriesKey({ part, method, route, status }: RequestRow): string {
  return `${part}\t${verbOf(method)}\t${route}\t${status}`;
}

/** The key of a series, followed by the account if its requests named another one than the installation's. */
export function accountKey(series: string, account: string): string {
  return account === "" ? series : `${series}\t${account}`;
}

/** Reads a key of {@link accountKey}. */
export function splitAccount(key: string): {
  readonly series: string;
  readonly account: string;
} {
  const [part = "", method = "", route = "", status = "", account = ""] = key.split("\t");
  return { series: [part, method, route, status].join("\t"), account };
}

export interface SeriesLabels {
  readonly part: string;
  readonly method: string;
  readonly route: string;
  readonly status: string;
}

/** Reads a key of {@link seriesKey}. */
export function labelsOf(key: string): SeriesLabels {
  const [part = "", method = "", route = "", status = ""] = key.split("\t");
  return { part, method, route, status };
}

/** The totals before the first request. */
export function noRequests(): RequestTotals {
  return {
    count: 0,
    ms: 0,
    bytes: 0,
    buckets: Array.from({ length: secondBounds.length + 1 }, () => 0),
  };
}

export function addRequest(totals: RequestTotals, { ms, bytes = 0 }: RequestRow): void {
  const at = bucketOf(secondBounds, ms);
  totals.count += 1;
  totals.ms += ms;
  totals.bytes += bytes;
  totals.buckets[at] = (totals.buckets[at] ?? 0) + 1;
}

export function addTotals(totals: RequestTotals, other: RequestTotals): void {
  totals.count += other.count;
  totals.ms += other.ms;
  totals.bytes += other.bytes;
  for (const [at, count] of other.buckets.entries())
    totals.buckets[at] = (totals.buckets[at] ?? 0) + count;
}
