import {
  type ExpositionFormat,
  type Family,
  familyText,
  gauge,
  histogram,
  type Labels,
  type Sample,
} from "../../../http/metrics-format.ts";
import type { SeriesTable } from "./series-table.ts";
import { type RequestSeries, type Series, seriesOf } from "./series.ts";
import { VERSION } from "../../../version.ts";
import { durationBounds, sumOf, type Totals } from "./totals.ts";

/** Writes an account's series as a scraper reads them; `runtime` is where this process runs. */
export function exposition(table: SeriesTable, runtime: string, format: ExpositionFormat): string {
  const entries = [...table].flatMap(([key, totals]): Entry[] => {
    const series = seriesOf(key);
    return series === null ? [] : [[series, totals]];
  });
  const families = [
    ...requestFamilies(entries.filter(isRequest)),
    ...keyFamilies(entries),
    ...otherFamilies(entries),
    gauge("causey_gateway_metric_series", "Series kept of this account", table.size),
    gauge("causey_build_info", "What answers", 1, { version: VERSION, runtime }),
  ];
  const end = format === "openmetrics" ? "# EOF\n" : "";
  return families.map((family) => familyText(family, format)).join("") + end;
}

type Entry = readonly [series: Series, totals: Totals];
type RequestEntry = readonly [series: RequestSeries, totals: Totals];

function isRequest(entry: Entry): entry is RequestEntry {
  return entry[0].family === "request";
}

function requestFamilies(entries: readonly RequestEntry[]): Family[] {
  const byModel = sums(entries, ({ gateway, provider, model }) => ({ gateway, provider, model }));
  const byCached = sums(entries, ({ gateway, provider, model, cached }) => ({
    gateway,
    provider,
    model,
    cached,
  }));
  return [
    {
      name: "causey_gateway_requests",
      type: "counter",
      help: "Tries: requests to providers, and answers from the cache",
      samples: entries.map(([series, { count }]) => ["_total", labelsOf(series), count]),
    },
    {
      name: "causey_gateway_request_duration_seconds",
      type: "histogram",
      help: "Time of a try until the last byte of its answer",
      samples: byCached.flatMap(([labels, totals]) =>
        histogram(labels, durationBounds, { ...totals, ms: totals.duration }),
      ),
    },
    {
      name: "causey_gateway_tokens",
      type: "counter",
      help: "Tokens as providers report them; cached answers add none",
      samples: byCached.flatMap(([labels, { tokensIn, tokensOut }]): Sample[] => [
        ["_total", { ...labels, type: "input" }, tokensIn],
        ["_total", { ...labels, type: "output" }, tokensOut],
      ]),
    },
    {
      name: "causey_gateway_cost_usd",
      type: "counter",
      help: "Cost in US dollars, as far as prices are known",
      samples: byModel.map(([labels, { cost }]) => ["_total", labels, cost]),
    },
  ];
}

/** By virtual key, apart from the models: both together would be too many. */
function keyFamilies(entries: readonly Entry[]): Family[] {
  const samples = (of: (totals: Totals) => readonly (readonly [Labels, number])[]): Sample[] =>
    entries.flatMap(([series, totals]) => {
      if (series.family !== "key") return [];
      const { gateway, key } = series;
      return of(totals).map(([more, value]): Sample => [
        "_total",
        { gateway, key, ...more },
        value,
      ]);
    });
  return [
    {
      name: "causey_gateway_key_requests",
      type: "counter",
      help: "Tries of the callers of a virtual key",
      samples: samples(({ count }) => [[{}, count]]),
    },
    {
      name: "causey_gateway_key_tokens",
      type: "counter",
      help: "Tokens of the callers of a virtual key",
      samples: samples(({ tokensIn, tokensOut }) => [
        [{ type: "input" }, tokensIn],
        [{ type: "output" }, tokensOut],
      ]),
    },
    {
      name: "causey_gateway_key_cost_usd",
      type: "counter",
      help: "Cost of the callers of a virtual key in US dollars, as far as prices are known",
      samples: samples(({ cost }) => [[{}, cost]]),
    },
  ];
}

function otherFamilies(entries: readonly Entry[]): Family[] {
  return [
    {
      name: "causey_gateway_refused",
      type: "counter",
      help: "Requests sent away before any provider was asked",
      samples: entries.flatMap(([series, { count }]): Sample[] =>
        series.family === "refused"
          ? [["_total", { gateway: series.gateway, reason: series.reason }, count]]
          : [],
      ),
    },
    {
      name: "causey_gateway_log_rows_dropped",
      type: "counter",
      help: "Log rows lost because they could not be stored in time",
      samples: entries.flatMap(([series, { count }]): Sample[] =>
        series.family === "dropped" ? [["_total", { gateway: series.gateway }, count]] : [],
      ),
    },
  ];
}

function labelsOf(series: RequestSeries): Labels {
  const { gateway, provider, model, status, success, cached } = series;
  return { gateway, provider, model, status, success, cached };
}

/** Returns the sums over all series with the same of some labels. */
function sums(
  entries: readonly RequestEntry[],
  some: (series: RequestSeries) => Labels,
): [Labels, Totals][] {
  const found = new Map<string, [Labels, Totals]>();
  for (const [series, totals] of entries) {
    const labels = some(series);
    const key = Object.values(labels).join("\t");
    found.set(key, [labels, sumOf(totals, found.get(key)?.[1])]);
  }
  return [...found.values()];
}
