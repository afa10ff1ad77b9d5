import type { InstanceState } from "../state/instance-state.ts";
import type { FieldType } from "../filter/metadata.ts";
import { fieldTypes, fieldValues, knownField } from "./fields.ts";

/** Values that one facet lists: the most frequent ones. */
const MAX_VALUES = 100;

/** Values that are counted before others may go on: a few milliseconds. */
const SLICE = 10_000;

/** How many of the matching items have which value of which field. Names as in Meilisearch. */
export type Facets = {
  readonly facet_distribution: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The least and the greatest value of fields of numbers and times (Unix seconds). */
  readonly facet_stats: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
};

/** Counts the values of some fields over items. Throws 400 for a field that the instance does not have. */
export async function countFacets(
  state: InstanceState,
  fields: readonly string[],
  items: readonly string[],
): Promise<Facets> {
  const types = fieldTypes(state);
  const distribution: [string, Record<string, number>][] = [];
  const stats: [string, { min: number; max: number }][] = [];
  for (const asked of fields) {
    const field = knownField(state, "facets", asked);
    const type = types.get(field) ?? "text";
    // One field at a time: all values of all fields would have to fit into memory.
    const values = await fieldValues(state, field, items);
    const counts = new Map<string | number, number>();
    let n = 0;
    for (const value of values.values()) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
      if (++n % SLICE === 0) await state.context.system.sleep(0);
    }
    distribution.push([field, mostFrequent(counts, type)]);
    const range = type === "number" || type === "datetime" ? rangeOf(counts.keys()) : null;
    if (range !== null) stats.push([field, range]);
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
      [...distribution].map(([field, values]) => [field, mostFrequent(values, "text")]),
    ),
    facet_stats: Object.fromEntries(stats),
  };
}

function mostFrequent(
  counts: ReadonlyMap<string | number, number>,
  type: FieldType,
): Record<string, number> {
  let first: [string | number, number][] = [];
  let bar = 0;
  for (const [value, count] of counts) {
    if (count < bar) continue;
    first.push([value, count]);
    // Sorting now and then is cheaper than sorting all.
    if (first.length < 8 * MAX_VALUES) continue;
    first = first.toSorted(moreFrequent).slice(0, MAX_VALUES);
    bar = first.at(-1)?.[1] ?? 0;
  }
  first = first.toSorted(moreFrequent).slice(0, MAX_VALUES);
  return Object.fromEntries(first.map(([value, count]) => [shown(value, type), count]));
}

type Counted = readonly [value: string | number, count: number];

function moreFrequent([a, n]: Counted, [b, m]: Counted): number {
  return m - n || (a < b ? -1 : a > b ? 1 : 0);
}

/** A value as it was uploaded, so that it can be a filter. */
function shown(value: string | number, type: FieldType): string {
  if (type === "boolean") return value === 0 ? "false" : "true";
  if (type !== "datetime") return String(value);
  const date = new Date(Number(value) * 1000);
  // Times that no calendar has stay numbers.
  return Number.isNaN(date.getTime()) ? String(value) : date.toISOString();
}

function rangeOf(values: Iterable<string | number>): { min: number; max: number } | null {
  let min = Infinity;
  let max = -Infinity;
  for (const value of values) {
    min = Math.min(min, Number(value));
    max = Math.max(max, Number(value));
  }
  return min > max ? null : { min, max };
}
