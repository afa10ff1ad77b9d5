import { countFacets, type Facets } from "../refine/facets.ts";
import {
  comparePlaces,
  firstItems,
  firstOfEach,
  type SearchOrder,
  type ItemPlace,
  placesOf,
} from "../refine/order.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { type KeywordPlan, matchExpression } from "../query/keyword-plan.ts";
import type { Allowed } from "../filter/allowed-items.ts";
import { askLegs, keywordMode, type LegResults } from "./ask-legs.ts";
import type { Candidate } from "./fuse.ts";
import { boostsOf, type RankedChunk, rank } from "./rank.ts";
import type { Seen, VectorHit } from "./vector-leg.ts";
import type { RetrievalType, SearchInput } from "./search-input.ts";
import { besideOthers } from "../query/keyword-index.ts";

/** Candidates that each leg brings at most, for fusion and for boosts to reorder. */
const CANDIDATES = 100;
/** What a leg brings beyond the limit when nothing will reorder it: room for chunks that are just being replaced. */
const SPARE = 20;
/** How much more is brought while groups are missing, and the most of it. */
const WIDEN = 4;
const MOST_CANDIDATES = 1_600;

/** A search whose options have been read. */
export interface Search {
  readonly state: InstanceState;
  readonly input: SearchInput;
  readonly plan: KeywordPlan;
  readonly type: RetrievalType;
  readonly limit: number;
  readonly threshold: number;
  readonly order: SearchOrder;
  /** What the filter lets through; null without one. */
  readonly allowed: Allowed | null;
  /** Joins what the legs found. */
  readonly join: (found: LegResults) => Candidate[];
}

/** What a search found, before texts are read. */
export interface Collected {
  /** Best first, one of each group, not cut yet. */
  readonly ranked: readonly RankedChunk[];
  readonly legs: LegResults;
  readonly facets: Facets | null;
  /** Where each item stands; null when nothing is sorted or grouped. */
  readonly placeOf: ((item: string) => ItemPlace) | null;
}

/** Asks the legs as often as order and groups need. */
export async function collect(search: Search): Promise<Collected> {
  const { state, input, order, limit, allowed } = search;
  const wide = search.type === "hybrid" || reordered(search);
  let bring = wide ? CANDIDATES : limit + SPARE;
  let legs = await ask(search, allowed, bring);
  const isSorted = order.sort.length > 0;
  const counts = input.facets;
  const matching =
    isSorted || counts !== undefined ? await allMatching(search, legs, allowed) : NO_ITEMS;
  const facets =
    counts === undefined ? null : await countFacets(state, counts, [...matching.keys()]);
  if (isSorted) legs = await askInOrder(search, await firstItems(state, order, matching, limit));
  for (;;) {
    const found = await inOrder(search, legs);
    const isEnough =
      isSorted || order.distinct === null || legs.exhausted || found.ranked.length >= limit;
    if (isEnough || bring >= MOST_CANDIDATES) return { ...found, legs, facets };
    bring *= WIDEN;
    legs = await ask(search, allowed, bring);
  }
}

const NO_ITEMS: ReadonlyMap<string, number> = new Map();

/** What the legs found, as it is to be ordered and grouped. */
async function inOrder(
  { state, input, order, join }: Search,
  legs: LegResults,
): Promise<Pick<Collected, "ranked" | "placeOf">> {
  const ranked = await rank(state, join(legs), boostsOf(state, input));
  if (order.sort.length === 0 && order.distinct === null) return { ranked, placeOf: null };
  const placeOf = await placesOf(state, order, [...new Set(ranked.map(itemOf))]);
  const sorted = ranked.toSorted((a, b) =>
    comparePlaces(order, placeOf(itemOf(a)), placeOf(itemOf(b))),
  );
  return { ranked: firstOfEach(sorted, (one) => placeOf(itemOf(one)).group), placeOf };
}

/** The item of a ranked chunk. */
export function itemOf({ row }: RankedChunk): string {
  return String(row["item_id"]);
}

/** Whether the order of the legs is not the order of the results. */
function reordered({ state, input, plan, order }: Search): boolean {
  const narrowed = plan.required.length + plan.excluded.length > 0;
  const isOrdered = order.sort.length > 0 || order.distinct !== null;
  return isOrdered || narrowed || boostsOf(state, input).length > 0;
}

function ask(search: Search, allowed: Allowed | null, bring: number): Promise<LegResults> {
  const { state, input, plan, type, limit, order } = search;
  // Groups and orders may leave most of the hits of all words out.
  const enough = order.distinct === null && order.sort.length === 0 ? limit : bring;
  return askLegs(state, input, plan, type, { enough, bring }, allowed);
}

function allMatching(
  { state, input, plan, type, threshold }: Search,
  { legs }: LegResults,
  allowed: Allowed | null,
): Promise<Map<string, number>> {
  const mode = keywordMode(state, input) === "and" ? "and" : "or";
  const near = legs.vector.filter(({ score }) => score >= threshold);
  return matchingItems(state, type === "vector" ? null : plan, mode, near, allowed);
}

/** What the legs find in the items that come first. Those that all are shown are asked for apart: none may be crowded out. */
async function askInOrder(search: Search, groups: readonly Allowed[]): Promise<LegResults> {
  const found: LegResults[] = [];
  for (const allowed of groups) {
    const bring = Math.min(MOST_CANDIDATES, Math.max(CANDIDATES, allowed.chunks));
    found.push(await ask(search, allowed, bring));
  }
  const all = found.map(({ legs }) => legs);
  return {
    both: found.every(({ both }) => both),
    exhausted: true,
    legs: {
      keyword: all.flatMap(({ keyword }) => keyword).toSorted((a, b) => b.value - a.value),
      vector: all.flatMap(({ vector }) => vector).toSorted((a, b) => b.nearness - a.nearness),
      seen: (chunk) => all.reduce<Seen | null>((known, one) => known ?? one.seen(chunk), null),
    },
  };
}

/** Chunks that are looked at in one statement: a few milliseconds. */
const SLICE = 5_000;

/**
 * All items that a search matches, with the count of their chunks that do: by keywords the whole index is looked through,
 * by vectors only what the vector leg found counts.
 */
async function matchingItems(
  state: InstanceState,
  plan: KeywordPlan | null,
  mode: "and" | "or",
  vector: readonly VectorHit[],
  allowed: Allowed | null,
): Promise<Map<string, number>> {
  const out =
    plan === null ? new Map<string, number>() : await byKeywords(state, plan, mode, allowed);
  const near = new Map<string, number>();
  for (const { itemId } of vector) near.set(itemId, (near.get(itemId) ?? 0) + 1);
  // What keywords found of an item may be the same chunks.
  for (const [item, chunks] of near) if (!out.has(item)) out.set(item, chunks);
  return out;
}

async function byKeywords(
  state: InstanceState,
  plan: KeywordPlan,
  mode: "and" | "or",
  allowed: Allowed | null,
): Promise<Map<string, number>> {
  const { actor, index, context } = state;
  const out = new Map<string, number>();
  const match = matchExpression(plan, mode);
  if (match === null) return out;
  for (let from = 0; from < state.facts().nextChunk; from += SLICE) {
    const rows = await context.sql.all(
      // Materialized: as the inner loop FTS5 would run the whole query once per chunk.
      `WITH found AS MATERIALIZED (SELECT rowid AS id FROM ${index} WHERE ${index} MATCH ? AND rowid BETWEEN ? AND ?)
        SELECT c.item_id AS item, COUNT(*) AS n FROM found JOIN search_chunks c ON c.actor = ? AND c.id = found.id GROUP BY c.item_id`,
      [match, from, from + SLICE - 1, actor],
      besideOthers(state),
    );
    for (const row of rows) {
      const item = String(row["item"]);
      if (allowed === null || allowed.ids.has(item))
        out.set(item, (out.get(item) ?? 0) + Number(row["n"]));
    }
    await context.system.sleep(0);
  }
  return out;
}
