import type { InstanceState } from "../instance/instance-state.ts";
import type { Allowed } from "../retrieve/allowed-items.ts";
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
  const items = [...matching.keys()];
  const placeOf = await placesOf(state, order, items);
  const places = new Map(items.map((item) => [item, placeOf(item)]));
  const sorted = [...places].toSorted(([, x], [, y]) => comparePlaces(order, x, y));
  const before = emptyItems();
  let last = emptyItems();
  const seen = new Set<string>();
  let shown = 0;
  let at: ItemPlace | null = null;
  for (const [item, place] of sorted) {
    if (at === null || comparePlaces(order, at, place) !== 0) {
      if (shown >= limit) break;
      for (const [id, chunks] of last.items) before.items.set(id, chunks);
      last = emptyItems();
      at = place;
    }
    const { group } = place;
    const isNew = group === null || !seen.has(group);
    // A group that stands further ahead is shown there; of one place the score decides.
    if (!isNew && !last.groups.has(group)) continue;
    if (group !== null) last.groups.add(group);
    last.items.set(item, matching.get(item) ?? 0);
    if (group === null) shown += matching.get(item) ?? 0;
    else if (isNew) shown++;
    if (group !== null) seen.add(group);
  }
  return [before, last].filter(({ items: of }) => of.size > 0).map(allowedOf);
}

interface Items {
  readonly items: Map<string, number>;
  readonly groups: Set<string>;
}

const emptyItems = (): Items => ({ items: new Map(), groups: new Set() });

function allowedOf({ items }: Items): Allowed {
  const chunks = [...items.values()].reduce((sum, count) => sum + count, 0);
  return { ids: new Set(items.keys()), chunks };
}
