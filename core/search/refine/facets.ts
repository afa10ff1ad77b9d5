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
    const counted = present(values, counts);
    distribution.push([field, mostFrequent(counted, type)]);
    const [first, last] = [counted[0], counted.at(-1)];
    const isRange = type === "number" || type === "datetime";
    if (isRange && first !== undefined && last !== undefined)
      stats.push([field, { min: Number(first[0]), max: Number(last[0]) }]);
  }
  return {
    facet_distribution: Object.fromEntries(distribution),
    facet_stats: Object.fromEntries(stats),
  };
}

/** The values that items have, ascending, with their counts. */
function present(values: readonly ColumnValue[], counts: Int32Array): Counted[] {
  const out: Counted[] = [];
  for (let code = 0; code < counts.length; code++) {
    const [value, count] = [values[code], counts[code] ?? 0];
    if (value !== undefined && count > 0) out.push([value, count]);
  }
  return out;
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
      [...distribution].map(([field, values]) => [
        field,
        mostFrequent([...values].toSorted(byValue), "text"),
      ]),
    ),
    facet_stats: Object.fromEntries(stats),
  };
}

function byValue([a]: Counted, [b]: Counted): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

type Counted = readonly [value: ColumnValue, count: number];

/** @param counted ascending by their values, which decide between equal counts */
function mostFrequent(counted: readonly Counted[], type: FieldType): Record<string, number> {
  let first: Counted[] = [];
  let bar = 0;
  for (const one of counted) {
    if (one[1] <= bar) continue;
    first.push(one);
    // Sorting now and then is cheaper than sorting all.
    if (first.length < 8 * MAX_VALUES) continue;
    first = first.toSorted(moreFrequent).slice(0, MAX_VALUES);
    bar = first.at(-1)?.[1] ?? 0;
  }
  first = first.toSorted(moreFrequent).slice(0, MAX_VALUES);
  return Object.fromEntries(first.map(([value, count]) => [shown(value, type), count]));
}

/** Sorting keeps the order of equal ones. */
function moreFrequent([, n]: Counted, [, m]: Counted): number {
  return m - n;
}

/** A value as it was uploaded, so that it can be a filter. */
function shown(value: string | number, type: FieldType): string {
  if (type === "boolean") return value === 0 ? "false" : "true";
  if (type !== "datetime") return String(value);
  const date = new Date(Number(value) * 1000);
  // Times that no calendar has stay numbers.
  return Number.isNaN(date.getTime()) ? String(value) : date.toISOString();
}
