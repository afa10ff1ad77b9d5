import type { Platform } from "../../ports.ts";
import type { RequestRow } from "../requests/request-row.ts";
import {
  addRequest,
  noRequests,
  type RequestTotals,
  seriesKey,
} from "../requests/request-totals.ts";
import type { OtlpRecord } from "../../trace/otlp-json.ts";
import { durationMetric } from "./otlp-records.ts";
import type { OtlpSettings } from "./otlp-settings.ts";

/** Series of metrics: as many as routes, methods and statuses can be, and some. */
const SERIES = 2000;

/** Durations of requests, by route, method and status, since the process began. */
export interface RequestDurations {
  add(row: RequestRow): void;
  /** Whether a request came that no export has included. */
  hasNews(): boolean;
  /** The records to export now; empty without news, or a moment after the last export. */
  due(): readonly OtlpRecord[];
}

/** Counts requests for the metric that the collector gets at most once an interval. */
export function requestDurations(
  { system }: Platform,
  { metricInterval }: OtlpSettings,
): RequestDurations {
  const began = system.now();
  const series = new Map<string, RequestTotals>();
  let hasNews = false;
  let exportedAt = Number.NEGATIVE_INFINITY;
  return {
    hasNews: () => hasNews,
    add(row) {
      const key = seriesKey(row);
      let totals = series.get(key);
      if (totals === undefined) {
        if (series.size >= SERIES) return;
        series.set(key, (totals = noRequests()));
      }
      addRequest(totals, row);
      hasNews = true;
    },
    due() {
      const now = system.monotonic();
      const isLast = system.closing?.aborted === true;
      if (!hasNews || (now - exportedAt < metricInterval && !isLast)) return [];
      hasNews = false;
      exportedAt = now;
      return [durationMetric(series, began, system.now())];
    },
  };
}
