import type { SqlRow } from "../../ports.ts";
import { keywordMode } from "./ask-legs.ts";
import type { RetrievalType, SearchInput } from "./search-input.ts";
import type { NearChunks, VectorHit } from "./vector-leg.ts";
import type { Allowed } from "../filter/allowed-items.ts";
import type { ItemView } from "../filter/item-columns.ts";
import { longQuery } from "../query/long-query.ts";
import { type KeywordPlan, matchExpression } from "../query/keyword-plan.ts";
import type { InstanceState } from "../state/instance-state.ts";

/** All items that a search matches, by their numbers in a view. */
export interface Matching {
  readonly view: ItemView;
  readonly items: Int32Array;
  /** By item number: how many of its chunks match. */
  readonly chunks: Int32Array;
  /** The chunks that keywords find, ascending, and their items; null where keywords were not asked. */
  readonly hits: { readonly chunks: Int32Array; readonly owners: Int32Array } | null;
  /** Whether more chunks than {@link MATCHED_BY_VECTORS} are near enough, and only the nearest count. */
  readonly isCut: boolean;
}

/**
 * The chunks that match a search by their vectors at most, the nearest ones: each has some similarity to any query, and with a
 * low threshold all would match.
 */
export const MATCHED_BY_VECTORS = 1_000;

/** Everything that decides which items match. */
export interface MatchingSearch {
  readonly state: InstanceState;
  readonly input: SearchInput;
  readonly plan: KeywordPlan;
  readonly type: RetrievalType;
  readonly threshold: number;
  /** The items that the filter lets through; null without one. */
  readonly allowed: Allowed | null;
}

/**
 * All items that a search matches: by keywords the whole index is looked through, by vectors the nearest chunks above the
 * threshold count.
 */
export async function matchingItems(
  { state, input, plan, type, threshold, allowed }: MatchingSearch,
  { hits: nearest, next }: NearChunks,
): Promise<Matching> {
  const mode = keywordMode(state, input) === "and" ? "and" : "or";
  const match = type === "vector" ? null : matchExpression(plan, mode);
  const found = match === null ? new Int32Array(0) : await keywordHits(state, match);
  const near = nearest.filter(({ score }) => score >= threshold);
  const looked = near.length === 0 ? found : together(near, found);
  const view = await state.columns.of(looked, state.facts().chunks);
  const owners = view.ofChunks(found);
  const chunks = new Int32Array(view.ids.length);
  for (let n = 0; n < owners.length; n++) count(chunks, owners[n] ?? -1);
  if (allowed !== null) leaveOut(chunks, (item) => !allowed.ids.has(view.ids[item] ?? ""));
  // An item that keywords found too is not counted again: its chunks may be the same.
  const others = near.map(({ itemId }) => view.ofId(itemId)).filter((item) => chunks[item] === 0);
  for (const item of others) count(chunks, item);
  return {
    view,
    chunks,
    items: placesAbove0(chunks),
    hits: type === "vector" ? null : { chunks: found, owners },
    isCut: next !== null && next >= threshold,
  };
}

function together(near: readonly VectorHit[], found: Int32Array): Int32Array {
  const chunks = new Set(near.map(({ chunk }) => chunk));
  const out = new Int32Array(chunks.size + found.length);
  out.set([...chunks]);
  out.set(found, chunks.size);
  return out.toSorted();
}

function leaveOut(counts: Int32Array, isOut: (item: number) => boolean): void {
  for (let item = 0; item < counts.length; item++)
    if ((counts[item] ?? 0) > 0 && isOut(item)) counts[item] = 0;
}

function placesAbove0(counts: Int32Array): Int32Array {
  const out = new Int32Array(counts.length);
  let size = 0;
  for (let at = 0; at < counts.length; at++) if ((counts[at] ?? 0) > 0) out[size++] = at;
  return out.subarray(0, size);
}

function count(counts: Int32Array, item: number): void {
  if (item >= 0) counts[item] = (counts[item] ?? 0) + 1;
}

/** Groups of the items that a search matches, for the legs. */
export function allowedGroups(
  { view, chunks, hits }: Matching,
  groups: readonly (readonly number[])[],
): Allowed[] {
  const groupOf = new Uint8Array(view.ids.length);
  for (const [n, items] of groups.entries()) for (const item of items) groupOf[item] = n + 1;
  const all = hits === null ? null : hitsIn(hits, (item) => (groupOf[item] ?? 0) > 0);
  const asked = new Map<string, Promise<SqlRow[]>>();
  return groups.map((items, n) => ({
    ids: new Set(items.map((item) => view.ids[item] ?? "")),
    chunks: items.reduce((sum, item) => sum + (chunks[item] ?? 0), 0),
    ...(hits !== null &&
      all !== null && {
        hits: {
          own: groups.length === 1 ? all : hitsIn(hits, (item) => groupOf[item] === n + 1),
          all,
          found: hits.chunks.length,
          isOwn: (chunk) => groupOf[view.ofChunk(chunk)] === n + 1,
          asked,
        },
      }),
  }));
}

/** The chunks of some items that keywords find. A loop: a closure for each of thousands of chunks takes longer. */
function hitsIn(
  { chunks, owners }: NonNullable<Matching["hits"]>,
  isIn: (item: number) => boolean,
): Int32Array {
  const out = new Int32Array(chunks.length);
  let size = 0;
  for (let at = 0; at < chunks.length; at++)
    if (isIn(owners[at] ?? -1)) out[size++] = chunks[at] ?? 0;
  return out.subarray(0, size);
}

/** Chunks that are looked at in one statement: a few milliseconds. */
const SLICE = 20_000;

/** The chunks that keywords find, ascending. */
async function keywordHits(state: InstanceState, match: string): Promise<Int32Array> {
  const { context, index, keywords } = state;
  const found: Int32Array[] = [];
  const { nextChunk } = state.facts();
  for (let from = 0; from < nextChunk; from += SLICE) {
    if (from > 0) await context.system.sleep(0);
    // One row: a row for each would take longer to hand over than to find.
    const [row] = await keywords.all(
      `SELECT json_group_array(rowid) AS ids FROM ${index} WHERE ${index} MATCH ? AND rowid BETWEEN ? AND ?`,
      [match, from, from + SLICE - 1],
      longQuery(state),
    );
    // FTS5 finds them in order; `ORDER BY` in a subquery would cost a quarter more.
    const ids = Int32Array.from(JSON.parse(String(row?.["ids"] ?? "[]")) as number[]);
    found.push(ascend(ids) ? ids : ids.toSorted());
  }
  const out = new Int32Array(found.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of found) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function ascend(ids: Int32Array): boolean {
  for (let at = 1; at < ids.length; at++) if ((ids[at - 1] ?? 0) > (ids[at] ?? 0)) return false;
  return true;
}
