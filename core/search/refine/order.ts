import type { InstanceState } from "../state/instance-state.ts";
import type { Allowed } from "../filter/allowed-items.ts";
import { fieldValues, knownField } from "./fields.ts";

/** What `distinct` calls the item itself. */
const ITEM = "key";

/** How the results of a search are to be ordered and grouped. */
export interface SearchOrder {
  readonly sort: readonly { readonly field: string; readonly descending: boolean }[];
  /** One result for each value of it; `key` is the item. */
  readonly distinct: string | null;
}

/** A value to sort by; null where an item has none. */
export type SortValue = string | number | null;

/** Where an item stands: what it is sorted by, and the group of which only one result is shown; null = it is its own. */
export type ItemPlace = { readonly values: readonly SortValue[]; readonly group: string | null };

/** Reads `sort` and `distinct` of a request. Throws 400 for a field that the instance does not have. */
export function readOrder(
  state: InstanceState,
  sort: readonly string[] | undefined,
  distinct: string | undefined,
): SearchOrder {
  return {
    sort: (sort ?? []).map((entry) => {
      const at = entry.lastIndexOf(":");
      return {
        field: knownField(state, "sort", entry.slice(0, at)),
        descending: entry.slice(at + 1) === "desc",
      };
    }),
    distinct: distinct === undefined ? null : knownField(state, "distinct", distinct, [ITEM]),
  };
}

/** The places of items in an order. */
export async function placesOf(
  state: InstanceState,
  { sort, distinct }: SearchOrder,
  items: readonly string[],
): Promise<(item: string) => ItemPlace> {
  const columns: Map<string, string | number>[] = [];
  for (const { field } of sort) columns.push(await fieldValues(state, field, items));
  const groups =
    distinct === null || distinct === ITEM ? null : await fieldValues(state, distinct, items);
  return (item) => {
    const value = groups?.get(item);
    return {
      values: columns.map((values) => values.get(item) ?? null),
      group:
        distinct === ITEM ? `${state.actor}/${item}` : value === undefined ? null : String(value),
    };
  };
}

/** Compares two places; 0 where the order leaves it to the score. Items without a value come last, whatever the direction. */
export function comparePlaces(
  { sort }: { readonly sort: readonly { readonly descending: boolean }[] },
  a: ItemPlace,
  b: ItemPlace,
): number {
  for (const [n, { descending }] of sort.entries()) {
    const [x, y] = [a.values[n] ?? null, b.values[n] ?? null];
    if (x === y) continue;
    if (x === null || y === null) return x === null ? 1 : -1;
    return x < y === descending ? 1 : -1;
  }
  return 0;
}

/** The first of each group, in order; what has no group stays. */
export function firstOfEach<T>(all: readonly T[], groupOf: (one: T) => string | null): T[] {
  const seen = new Set<string>();
  return all.filter((one) => {
    const group = groupOf(one);
    if (group === null) return true;
    const isNew = !seen.has(group);
    seen.add(group);
    return isNew;
  });
}

/** Items that are looked at before others may go on: a few milliseconds. */
const SLICE = 2_000;

/** Items that stand at the same place. */
interface Tier {
  readonly place: ItemPlace;
  readonly items: Map<string, number>;
  readonly groups: Set<string>;
}

/**
 * The items that an order puts first, in at most two groups: those that all will be shown, and those of the last place, of
 * which the score decides. With `distinct`, each group of items counts once.
 */
export async function firstItems(
  state: InstanceState,
  order: SearchOrder,
  matching: ReadonlyMap<string, number>,
  limit: number,
): Promise<Allowed[]> {
  const items = [...matching];
  const placeOf = await placesOf(
    state,
    order,
    items.map(([item]) => item),
  );
  const pause = (): Promise<void> => state.context.system.sleep(0);
  // A group stands where its first item stands, so that each tier shows something, and no more than `limit` tiers are needed.
  const ahead = new Map<string, ItemPlace>();
  for (const [n, [item]] of items.entries()) {
    const place = placeOf(item);
    const known = place.group === null ? undefined : ahead.get(place.group);
    const isAhead = known === undefined || comparePlaces(order, place, known) < 0;
    if (place.group !== null && isAhead) ahead.set(place.group, place);
    if (n % SLICE === SLICE - 1) await pause();
  }
  const tiers: Tier[] = [];
  for (const [n, [item, chunks]] of items.entries()) {
    const place = placeOf(item);
    const first = place.group === null ? place : (ahead.get(place.group) ?? place);
    if (comparePlaces(order, place, first) === 0) addTo(tiers, order, place, limit, item, chunks);
    if (n % SLICE === SLICE - 1) await pause();
  }
  return shownFirst(tiers, limit);
}

/** Puts an item into its tier, of which there are at most `limit`, in order. */
function addTo(
  tiers: Tier[],
  order: SearchOrder,
  place: ItemPlace,
  limit: number,
  item: string,
  chunks: number,
): void {
  let at = tiers.length;
  while (at > 0 && comparePlaces(order, place, tiers[at - 1]?.place ?? place) < 0) at--;
  const before = tiers[at - 1];
  let tier = before;
  if (before === undefined || comparePlaces(order, place, before.place) !== 0) {
    if (at >= limit) return;
    tier = { place, items: new Map(), groups: new Set() };
    tiers.splice(at, 0, tier);
    tiers.splice(limit);
  }
  tier?.items.set(item, chunks);
  if (place.group !== null) tier?.groups.add(place.group);
}

/** The tiers before the last one that is shown as one, and the last one. */
function shownFirst(tiers: readonly Tier[], limit: number): Allowed[] {
  const before = new Map<string, number>();
  let shown = 0;
  for (const { items, groups } of tiers) {
    shown += groups.size > 0 ? groups.size : chunksIn(items);
    if (shown >= limit || items === tiers.at(-1)?.items)
      return [before, items].filter((of) => of.size > 0).map(allowedOf);
    for (const [item, chunks] of items) before.set(item, chunks);
  }
  return [];
}

function chunksIn(items: ReadonlyMap<string, number>): number {
  return [...items.values()].reduce((sum, count) => sum + count, 0);
}

function allowedOf(items: ReadonlyMap<string, number>): Allowed {
  return { ids: new Set(items.keys()), chunks: chunksIn(items) };
}
