import { countFacets, type Facets } from "../refine/facets.ts";
import {
  firstItems,
  firstOfEach,
  type ItemPlace,
  type Places,
  placesOf,
  type SearchOrder,
} from "../refine/order.ts";
import type { Allowed } from "../filter/allowed-items.ts";
import type { Filter } from "../filter/filter.ts";
import type { ItemView } from "../filter/item-columns.ts";
import { type Amount, askLegs, type LegResults } from "./ask-legs.ts";
import type { Candidate } from "./fuse.ts";
import { boostsOf, type RankedChunk, rank } from "./rank.ts";
import {
  allowedGroups,
  MATCHED_BY_VECTORS,
  type Matching,
  matchingItems,
  type MatchingSearch,
} from "./matching-items.ts";
import { NONE_NEAR, type Seen } from "./vector-leg.ts";

/** Candidates that each leg brings at most, for fusion and for boosts to reorder. */
const CANDIDATES = 100;
/** Hits that a leg returns beyond the limit when nothing reorders them: spares for chunks that are just being replaced. */
const SPARE = 20;
/** How much more is brought while groups are missing, and the most of it. */
const WIDEN = 4;
const MOST_CANDIDATES = 1_600;

/** A search whose options have been read. */
export interface Search extends MatchingSearch {
  readonly limit: number;
  readonly order: SearchOrder;
  readonly filter: Filter | null;
  readonly join: (found: LegResults) => Candidate[];
}

/** The results of a search, before texts are read. */
export interface Collected {
  /** Best first, one of each group, not cut yet. */
  readonly ranked: readonly RankedChunk[];
  readonly legs: LegResults;
  readonly facets: Facets | null;
  /** Whether the order or the facets leave out chunks that are near enough: there are too many. */
  readonly isCut: boolean;
  /** Returns an item's sort values and group; null when nothing is sorted or grouped. */
  readonly placeOf: ((item: string) => ItemPlace) | null;
}

/** Asks the legs as often as order and groups need. */
export async function collect(search: Search): Promise<Collected> {
  const { state, input, order, limit, allowed, type } = search;
  const isSorted = order.sort.length > 0;
  const wide = type === "hybrid" || reordered(search);
  const bring = wide ? CANDIDATES : limit + SPARE;
  // A sorted keyword search needs no best hits: `matchingItems()` below finds all its matches.
  const fields = input.facets;
  const near = isSorted || fields !== undefined ? MATCHED_BY_VECTORS : 0;
  const first = { bring, enough: limit, near };
  const legs = isSorted && type === "keyword" ? NOTHING : await ask(search, allowed, first);
  const askMore = (more: number): Promise<LegResults> =>
    ask(search, allowed, { bring: more, enough: more });
  if (near === 0) {
    const found = await inGroups(search, { legs, bring, askMore, view: null });
    return { ...found, facets: null, isCut: false };
  }
  const matching = await matchingItems(search, legs.near);
  const { view, items, isCut } = matching;
  const facets = fields === undefined ? null : await countFacets(state, fields, view, items);
  const asked = isSorted
    ? await inOrderAsked(search, matching, bring)
    : { legs, bring, askMore, view };
  return { ...(await inGroups(search, asked)), facets, isCut };
}

/** Asks about the items that come first in the order of a search. */
async function inOrderAsked(search: Search, matching: Matching, bring: number): Promise<Asked> {
  const { state, order, limit } = search;
  const first = await firstItems(state, order, matching, limit);
  const askInOrder = ordered(search, matching, first);
  return {
    legs: await askInOrder({ bring, enough: limit }),
    bring,
    askMore: (more) => askInOrder({ bring: more, enough: more }),
    view: matching.view,
  };
}

/** Results of the legs, and how to ask for more of them. */
interface Asked {
  readonly legs: LegResults;
  readonly bring: number;
  readonly askMore: (bring: number) => Promise<LegResults>;
  readonly view: ItemView | null;
}

/** Asks for more while groups are missing. */
async function inGroups(
  search: Search,
  asked: Asked,
): Promise<Omit<Collected, "facets" | "isCut">> {
  const { order, limit } = search;
  for (let { legs, bring } = asked; ;) {
    const { groups, ...found } = await inOrder(search, legs, asked.view);
    const enough = order.distinct === null || legs.exhausted ? 0 : Math.min(limit, groups);
    if (found.ranked.length >= enough || bring >= MOST_CANDIDATES) return { ...found, legs };
    bring *= WIDEN;
    legs = await asked.askMore(bring);
  }
}

const NOTHING: LegResults = {
  legs: { keyword: [], vector: [], seen: () => null },
  both: false,
  exhausted: true,
  near: NONE_NEAR,
};

/** Orders and groups the results of the legs as the request asks. */
async function inOrder(
  { state, input, order, limit, join }: Search,
  legs: LegResults,
  known: ItemView | null,
): Promise<Pick<Collected, "ranked" | "placeOf"> & { readonly groups: number }> {
  const candidates = join(legs);
  const boosts = boostsOf(state, input);
  if (order.sort.length === 0 && order.distinct === null)
    return { ranked: await rank(state, candidates, boosts), placeOf: null, groups: Infinity };
  const chunks = Int32Array.from(new Set(candidates.map(({ chunk }) => chunk))).toSorted();
  const view = known ?? (await state.columns.of(chunks, state.facts().chunks));
  const places = await placesOf(state, order, view);
  // Boosts may put any of them first.
  const shown = boosts.length > 0 ? candidates : firstOf(candidates, view, places, limit + SPARE);
  const best = await rank(state, shown, boosts);
  const placed = best.map((one) => ({ one, item: view.ofId(itemOf(one)) }));
  const sorted = placed.toSorted((a, b) => places.compare(a.item, b.item)).map(({ one }) => one);
  const placeOf = (item: string): ItemPlace => places.of(view.ofId(item), item);
  const ranked = firstOfEach(sorted, (one) => placeOf(itemOf(one)).group);
  return { ranked, placeOf, groups: places.groups };
}

/** The candidates that hold the first `count` results of an order, and those that share the place and the score of the last. */
function firstOf(
  candidates: readonly Candidate[],
  view: ItemView,
  places: Places,
  count: number,
): Candidate[] {
  const placed = candidates.map((candidate) => ({
    candidate,
    item: view.ofChunk(candidate.chunk),
  }));
  type Placed = (typeof placed)[number];
  const compare = (a: Placed, b: Placed): number =>
    places.compare(a.item, b.item) || b.candidate.score - a.candidate.score;
  const groups = new Set<number>();
  const out: Candidate[] = [];
  let last: Placed | null = null;
  let shown = 0;
  for (const one of placed.toSorted(compare)) {
    if (last !== null && compare(one, last) !== 0) break;
    out.push(one.candidate);
    const group = places.groupOf(one.item);
    if (group < 0 || !groups.has(group)) shown += 1;
    groups.add(group);
    if (shown >= count) last = one;
  }
  return out;
}

export function itemOf({ row }: RankedChunk): string {
  return String(row["item_id"]);
}

/** Whether the order of the legs is not the order of the results. */
function reordered({ state, input, plan, order }: Search): boolean {
  const narrowed = plan.required.length + plan.excluded.length > 0;
  const isOrdered = order.sort.length > 0 || order.distinct !== null;
  return isOrdered || narrowed || boostsOf(state, input).length > 0;
}

function ask(
  { state, input, plan, type }: Search,
  allowed: Allowed | null,
  amount: Amount,
): Promise<LegResults> {
  return askLegs(state, input, { plan, type, amount, allowed });
}

/**
 * Returns a function that asks the legs about the items that come first. Items that are all shown are asked for apart, so that
 * none is crowded out.
 *
 * @param groups the items that are all shown, if there are any, and then those of which the score decides
 */
function ordered(
  search: Search,
  matching: Matching,
  groups: readonly (readonly number[])[],
): (amount: Amount) => Promise<LegResults> {
  const allowed = allowedGroups(matching, groups);
  const whole = new Map<Allowed, LegResults>();
  return async (amount) => {
    const found: LegResults[] = [];
    for (const one of allowed) {
      const isAll = one !== allowed.at(-1);
      const most = Math.min(MOST_CANDIDATES, Math.max(CANDIDATES, one.chunks));
      const legs =
        whole.get(one) ?? (await ask(search, one, isAll ? { bring: most, enough: most } : amount));
      if (isAll) whole.set(one, legs);
      found.push(legs);
    }
    const all = found.map(({ legs }) => legs);
    return {
      both: found.every(({ both }) => both),
      exhausted: found.at(-1)?.exhausted ?? true,
      near: NONE_NEAR,
      legs: {
        keyword: all.flatMap(({ keyword }) => keyword).toSorted((a, b) => b.value - a.value),
        vector: all.flatMap(({ vector }) => vector).toSorted((a, b) => b.nearness - a.nearness),
        seen: (chunk) => all.reduce<Seen | null>((known, one) => known ?? one.seen(chunk), null),
      },
    };
  };
}
