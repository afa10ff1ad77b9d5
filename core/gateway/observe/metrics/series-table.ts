import { keyOf, NO_MODEL, OTHER, type RequestSeries, seriesOf } from "./series.ts";
import { sumOf, type Totals } from "./totals.ts";

export type SeriesTable = ReadonlyMap<string, Totals>;

/** The growth of a series. */
export type Delta = readonly [key: string, totals: Totals];

/** Series of one account that have all their labels; as many again lack only the model. */
export const SERIES_LIMIT = 1000;

/**
 * Returns the key under which something is counted. Callers choose models and cause statuses, so the number of series is
 * bounded: beyond the limit a new series loses its model, beyond twice the limit every label that callers influence.
 */
export function boundedKey(
  key: string,
  table: Pick<SeriesTable, "has" | "size">,
  limit: number = SERIES_LIMIT,
): string {
  if (table.has(key) || table.size < limit) return key;
  const series = seriesOf(key);
  const hasRoom = table.size < 2 * limit;
  if (series?.family === "key") return keyOf({ ...series, key: OTHER });
  if (series?.family !== "request")
    return series === null || hasRoom ? key : keyOf({ ...series, gateway: OTHER });
  const nameless = keyOf({ ...series, model: OTHER });
  if (hasRoom || table.has(nameless)) return nameless;
  return keyOf({ ...series, gateway: OTHER, provider: OTHER, model: OTHER, status: OTHER });
}

/** A table with deltas added, and the keys that changed. */
export interface GrownTable {
  readonly table: SeriesTable;
  readonly changed: ReadonlySet<string>;
}

/**
 * Adds deltas to a table. A model has its own name from its first success on. So invented models cannot use up the
 * bound, and a secret that was sent in place of a model becomes no label.
 */
export function added(
  table: SeriesTable,
  deltas: readonly Delta[],
  limit: number = SERIES_LIMIT,
): GrownTable {
  const next = new Map(table);
  const changed = new Set<string>();
  let served: ReadonlySet<string> | null = null;
  for (const [given, totals] of deltas) {
    let key = given;
    if (!next.has(given)) {
      served ??= servedModels([...table.keys(), ...deltas.map(([one]) => one)]);
      key = boundedKey(servedKey(given, served), next, limit);
    }
    next.set(key, sumOf(totals, next.get(key)));
    changed.add(key);
  }
  return { table: next, changed };
}

/** Returns the models that have answered with success. */
function servedModels(keys: readonly string[]): ReadonlySet<string> {
  const served = new Set<string>();
  for (const key of keys) {
    const series = seriesOf(key);
    if (series?.family === "request" && series.success === "true") served.add(modelOf(series));
  }
  return served;
}

function modelOf({ provider, model }: RequestSeries): string {
  return `${provider}\t${model}`;
}

function servedKey(key: string, served: ReadonlySet<string>): string {
  const series = seriesOf(key);
  if (series?.family !== "request" || series.model === NO_MODEL) return key;
  return served.has(modelOf(series)) ? key : keyOf({ ...series, model: OTHER });
}
