import type { InstanceState } from "../state/instance-state.ts";
import type { ColumnValue, ItemView } from "../filter/item-columns.ts";
import type { FieldType } from "../filter/metadata.ts";
import { fieldTypes, knownField } from "./fields.ts";

/** Values that one facet lists: the most frequent ones. */
const MAX_VALUES = 100;

/** Items that are counted before others may go on: about a millisecond. */
const SLICE = 100_000;

/** How many of the matching items have which value of which field. Names as in Meilisearch. */
export type Facets = {
  readonly facet_distribution: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The least and the greatest value of fields of numbers and times (Unix seconds). */
  readonly facet_stats: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
};

/** Counts the values of some fields over items, given by their numbers in a view. Throws 400 for a field that the instance does not have. */
export async function countFacets(
  state: InstanceState,
  fields: readonly string[],
  view: ItemView,
  items: Int32Array,
): Promise<Facets> {
  const types = fieldTypes(state);
  const distribution: [string, Record<string, number>][] = [];
  const stats: [string, { min: number; max: number }][] = [];
  for (const asked of fields) {
    const field = knownField(state, "facets", asked);
    const type = types.get(field) ?? "text";
    const { codes, values } = await view.column(field);
    const counts = new Int32Array(values.length);
    for (let n = 0; n < items.length; n++) {
      const code = codes[items[n] ?? -1] ?? -1;
      if (code >= 0) counts[code] = (counts[code] ?? 0) + 1;
      if (n % SLICE === SLICE - 1) await state.context.system.sleep(0);
    }
    distribution.push([field, mostFrequent(values, counts, type)]);
    const isCounted = (count: number): boolean => count > 0;
    const [first, last] = [counts.findIndex(isCounted), counts.findLastIndex(isCounted)];
    if (first >= 0 && (type === "number" || type === "datetime"))
      stats.push([field, { min: Number(values[first]), max: Number(values[last]) }]);
  }
  return {
    facet_distribution: Object.fromEntries(distribution),
    facet_stats: Object.fromEntries(stats),
  };
}

/** Facets of several instances as one. */
export function addFacets(all: readonly Facets[]): Facets {
  const distribution = new Map<string, Map<string, number>>();
  const stats = new Map<string, { min: number; max: number }>();
  for (const facets of all) {
    for (const [field, values] of Object.entries(facets.facet_distribution)) {
      const sums = distribution.get(field) ?? new Map<string, number>();
      for (const [value, count] of Object.entries(values))
        sums.set(value, (sums.get(value) ?? 0) + count);
      distribution.set(field, sums);
    }
    for (const [field, { min, max }] of Object.entries(facets.facet_stats)) {
      const known = stats.get(field) ?? { min, max };
      stats.set(field, { min: Math.min(known.min, min), max: Math.max(known.max, max) });
    }
  }
  return {
    facet_distribution: Object.fromEntries(
      [...distribution].map(([field, sums]) => {
        const values = [...sums.keys()].toSorted();
        const counts = Int32Array.from(values, (value) => sums.get(value) ?? 0);
        return [field, mostFrequent(values, counts, "text")];
      }),
    ),
    facet_stats: Object.fromEntries(stats),
  };
}

/** @param values ascending; they decide between equal counts */
function mostFrequent(
  values: readonly ColumnValue[],
  counts: Int32Array,
  type: FieldType,
): Record<string, number> {
  const byCount = (a: number, b: number): number => (counts[b] ?? 0) - (counts[a] ?? 0);
  let first: number[] = [];
  let bar = 0;
  for (let code = 0; code < counts.length; code++) {
    if ((counts[code] ?? 0) <= bar) continue;
    first.push(code);
    // Sorting now and then is cheaper than sorting all; it keeps the order of equal ones.
    if (first.length < 8 * MAX_VALUES) continue;
    first = first.toSorted(byCount).slice(0, MAX_VALUES);
    bar = counts[first.at(-1) ?? 0] ?? 0;
  }
  first = first.toSorted(byCount).slice(0, MAX_VALUES);
  return Object.fromEntries(
    first.map((code) => [shown(values[code] ?? "", type), counts[code] ?? 0]),
  );
}

/** A value as it was uploaded, so that it can be a filter. */
function shown(value: string | number, type: FieldType): string {
  if (type === "boolean") return value === 0 ? "false" : "true";
  if (type !== "datetime") return String(value);
  const date = new Date(Number(value) * 1000);
  // Times that no calendar has stay numbers.
  return Number.isNaN(date.getTime()) ? String(value) : date.toISOString();
}
