/** The usage of one group of requests on one day. Plain, because it crosses to an actor. */
export type SpendRow = SpendGroup & SpendFigures;

/** The requests that are added up together. */
export type SpendGroup = {
  /** In UTC, such as `2026-11-27`. */
  readonly day: string;
  readonly gateway: string;
  readonly provider: string;
  readonly model: string;
  /** The id of the virtual key; empty = another caller. */
  readonly key: string;
  /** The team of the key at that time; empty = it had none. */
  readonly team: string;
  /** The tags of the key at that time, as JSON. */
  readonly tags: string;
};

export const sumColumns = [
  "requests",
  "errors",
  "cached",
  "tokens_in",
  "tokens_out",
  "cost",
] as const;

/** The sums of a group; `cost` is in US dollars. */
export type SpendFigures = { [Sum in (typeof sumColumns)[number]]: number };

export const spendColumns = ["day", "gateway", "provider", "model", "key", "team", "tag"] as const;

export type SpendColumn = (typeof spendColumns)[number];

/** The question of a report; days are inclusive. */
export type SpendQuery = {
  readonly since: string;
  readonly until: string;
  readonly by: readonly SpendColumn[];
  /** Values that columns must have. */
  readonly where: { readonly [Column in Exclude<SpendColumn, "day" | "tag">]?: string | undefined };
};

/** A report: the dearest groups first, and the sums of all. */
export type SpendReport = {
  readonly rows: readonly SpendReportRow[];
  readonly totals: SpendFigures;
  /** Whether all groups are there. */
  readonly complete: boolean;
};

/** The figures of one group of a report, by the columns that were asked for. */
export type SpendReportRow = SpendFigures & {
  readonly group: { readonly [Column in SpendColumn]?: string };
};

/** The model of requests that name none that is counted apart. */
export const OTHER_MODEL = "other";
