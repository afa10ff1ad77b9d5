import type { InstanceState } from "../state/instance-state.ts";
import type { Column, ItemView } from "../filter/item-columns.ts";
import { knownField } from "./fields.ts";

/** The value of `distinct` that stands for the item itself. */
const ITEM = "key";

/** How the results of a search are to be ordered and grouped. */
export interface SearchOrder {
  readonly sort: readonly { readonly field: string; readonly descending: boolean }[];
  /** One result for each value of it; `key` is the item. */
  readonly distinct: string | null;
}

/** A value to sort by; null where an item has none. */
export type SortValue = string | number | null;

/** An item's sort values, and its group, of which only one result is shown; null = the item is its own group. */
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

/** The order of a view's items, by their numbers; -1 is an item that the view does not know. */
export interface Places {
  /** 0 where the order leaves it to the score. Items without a value come last, whatever the direction. */
  compare(a: number, b: number): number;
  /** The group of which only one result is shown; -1 = the item is its own. */
  groupOf(item: number): number;
  /** The most groups that there can be; Infinity where an item may be its own. */
  readonly groups: number;
  of(item: number, id: string): ItemPlace;
}

/** The places of the items of a view. */
export async function placesOf(
  state: InstanceState,
  { sort, distinct }: SearchOrder,
  view: ItemView,
): Promise<Places> {
  const columns: (Column & { readonly descending: boolean })[] = [];
  for (const { field, descending } of sort)
    columns.push({ ...(await view.column(field)), descending });
  const groups = distinct === null || distinct === ITEM ? null : await view.column(distinct);
  return {
    compare(a, b) {
      for (const { codes, descending } of columns) {
        const [x, y] = [codes[a] ?? -1, codes[b] ?? -1];
        if (x === y) continue;
        if (x < 0 || y < 0) return x < 0 ? 1 : -1;
        return x < y === descending ? 1 : -1;
      }
      return 0;
    },
    groups:
      groups !== null && view.isWhole && !groups.codes.includes(-1)
        ? groups.values.length
        : Infinity,
    groupOf: (item) => (distinct === ITEM ? item : (groups?.codes[item] ?? -1)),
    of(item, id) {
      const group = groups?.values[groups.codes[item] ?? -1];
      return {
        values: columns.map(({ codes, values }) => values[codes[item] ?? -1] ?? null),
        group:
          distinct === ITEM ? `${state.actor}/${id}` : group === undefined ? null : String(group),
      };
    },
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
const SLICE = 50_000;

/** Items that stand at the same place. */
interface Tier {
  readonly items: number[];
  readonly groups: Set<number>;
  chunks: number;
}

/** Items by their numbers in a view. */
export interface ItemsToOrder {
  readonly view: ItemView;
  readonly items: Int32Array;
  /** By item number: how many of its chunks match. */
  readonly chunks: Int32Array;
}

/**
 * The items that an order puts first, in at most two groups: those that all will be shown, and those of the last place, of
 * which the score decides. With `distinct`, each group of items counts once.
 */
export async function firstItems(
  state: InstanceState,
  order: SearchOrder,
  { view, items, chunks }: ItemsToOrder,
  limit: number,
): Promise<number[][]> {
  const places = await placesOf(state, order, view);
  const pause = (): Promise<void> => state.context.system.sleep(0);
  const ahead =
    order.distinct === null || order.distinct === ITEM
      ? new Map<number, number>()
      : await firstOfGroups(places, items, pause);
  const tiers: Tier[] = [];
  for (let n = 0; n < items.length; n++) {
    const item = items[n] ?? -1;
    const group = places.groupOf(item);
    const first = group < 0 ? item : (ahead.get(group) ?? item);
    const tier = places.compare(item, first) === 0 ? tierOf(tiers, places, item, limit) : null;
    if (tier !== null) {
      tier.items.push(item);
      tier.chunks += chunks[item] ?? 0;
      if (group >= 0) tier.groups.add(group);
    }
    if (n % SLICE === SLICE - 1) await pause();
  }
  return shownFirst(tiers, limit);
}

/** The first item of each group: a group stands where it stands, so that each tier shows something, and no more than `limit` tiers are needed. */
async function firstOfGroups(
  places: Places,
  items: Int32Array,
  pause: () => Promise<void>,
): Promise<Map<number, number>> {
  const out = new Map<number, number>();
  for (let n = 0; n < items.length; n++) {
    const item = items[n] ?? -1;
    const group = places.groupOf(item);
    const known = out.get(group);
    const isAhead = known === undefined || places.compare(item, known) < 0;
    if (group >= 0 && isAhead) out.set(group, item);
    if (n % SLICE === SLICE - 1) await pause();
  }
  return out;
}

/** The tier of an item, of which there are at most `limit`, in order; null for one behind them. */
function tierOf(tiers: Tier[], places: Places, item: number, limit: number): Tier | null {
  let [low, high] = [0, tiers.length];
  // Most items stand behind the last tier.
  if (high === limit && places.compare(item, tiers.at(-1)?.items[0] ?? -1) > 0) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    const tier = tiers[middle];
    const order = tier === undefined ? -1 : places.compare(item, tier.items[0] ?? -1);
    if (order === 0) return tier ?? null;
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  const tier: Tier = { items: [], groups: new Set(), chunks: 0 };
  tiers.splice(low, 0, tier);
  tiers.splice(limit);
  return tier;
}

/** The items of the tiers before the last one that is shown as one group, and those of the last one. */
function shownFirst(tiers: readonly Tier[], limit: number): number[][] {
  const before: number[] = [];
  let shown = 0;
  for (const { items, groups, chunks } of tiers) {
    shown += groups.size > 0 ? groups.size : chunks;
    if (shown >= limit || items === tiers.at(-1)?.items)
      return [before, items].filter((of) => of.length > 0);
    for (const item of items) before.push(item);
  }
  return [];
}
