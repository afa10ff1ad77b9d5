import { acceptedRanges, parameterOf } from "../text/accept.ts";

/** Prometheus' text format 0.0.4, or OpenMetrics 1.0. */
export type ExpositionFormat = "text" | "openmetrics";

export const mediaTypes: Readonly<Record<ExpositionFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** OpenMetrics if `Accept` prefers its version 1.0.0 (or names no version) to plain text, else the text format. */
export function acceptedFormat(accept: string | undefined): ExpositionFormat {
  let text = 0;
  let openMetrics = 0;
  for (const { range, parameters, quality } of acceptedRanges(accept)) {
    const version = parameterOf("version", parameters)?.replaceAll('"', "");
    if (range === "application/openmetrics-text" && [undefined, "1.0.0"].includes(version))
      openMetrics = Math.max(openMetrics, quality);
    // NaN, from a malformed quality, wins neither comparison.
    else if (range === "text/plain") text = Math.max(text, quality);
  }
  return openMetrics > 0 && openMetrics >= text ? "openmetrics" : "text";
}

/** Labels of a sample, by their names. */
export type Labels = Readonly<Record<string, string>>;

/** A line of a family: what follows its name (`_total`, `_bucket` …), labels, value. */
export type Sample = readonly [suffix: string, labels: Labels, value: number];

/** Samples of one meaning. */
export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** A family of one sample. */
export function gauge(name: string, help: string, value: number, labels: Labels = {}): Family {
  return { name, type: "gauge", help, samples: [["", labels, value]] };
}

/** The durations of a histogram. */
export interface Durations {
  readonly count: number;
  /** The sum of all. */
  readonly ms: number;
  /** How many are above the bound before and not above this one; at last those above all. */
  readonly buckets: readonly number[];
}

/** The place of a duration in {@link Durations.buckets}; bounds are in seconds. */
export function bucketOf(bounds: readonly number[], ms: number): number {
  let at = 0;
  while (at < bounds.length && ms > (bounds[at] ?? 0) * 1000) at++;
  return at;
}

/** The samples of a histogram; bounds are in seconds. */
export function histogram(
  labels: Labels,
  bounds: readonly number[],
  { count, ms, buckets }: Durations,
): Sample[] {
  let below = 0;
  const samples = bounds.map((bound, at): Sample => {
    below += buckets[at] ?? 0;
    return ["_bucket", { ...labels, le: String(bound) }, below];
  });
  return [
    ...samples,
    ["_bucket", { ...labels, le: "+Inf" }, count],
    ["_sum", labels, ms / 1000],
    ["_count", labels, count],
  ];
}

/** A family as a scraper reads it. In 0.0.4 a counter's family is called like its samples, in OpenMetrics without their `_total`. */
export function familyText(
  { name, type, help, samples }: Family,
  format: ExpositionFormat,
): string {
  const family = type === "counter" && format === "text" ? `${name}_total` : name;
  const lines = samples.map(
    ([suffix, labels, value]) => `${name}${suffix}${labelText(labels)} ${value}\n`,
  );
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

/** Escapes backslash, double quote and line feed, as both formats require. */
function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
