import type { SqlRow, SqlValue } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { Allowed, KnownHits } from "../filter/allowed-items.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { longQuery } from "../query/long-query.ts";
import { type KeywordPlan, matchExpression } from "../query/keyword-plan.ts";

/** A chunk that the keyword leg found. */
export interface KeywordHit {
  readonly chunk: number;
  /** Raw BM25, higher is better. */
  readonly bm25: number;
  /** The value that hits are ordered by. */
  readonly value: number;
  /** Whether it comes before all others that are not so: it holds all words of a query in mode `"fill"`. */
  readonly comesFirst?: boolean;
}

/** `"fill"` = hits of all terms first, then hits of some (docs/compatibility.md). */
export type KeywordMode = "and" | "or" | "fill";

/** How much a word in a heading outweighs one in the text. */
const HEADING_WEIGHT = "3.0";
/** How much a word in the name of a file counts beside one in the text. */
const NAME_WEIGHT = "1.0";

/** The mode of a keyword search, and how much it brings. */
export interface KeywordAmount {
  readonly mode: KeywordMode;
  readonly enough: number;
  readonly limit: number;
  readonly allowed: Allowed | null;
}

export interface KeywordHits {
  readonly hits: KeywordHit[];
  /** Whether hits of some words were looked for, where the mode has them. */
  readonly isWhole: boolean;
}

/** The best chunks for a query by BM25, at most `limit`, ordered. Never fails on any query text. */
export async function keywordLeg(
  state: InstanceState,
  plan: KeywordPlan,
  { mode, enough, limit, allowed }: KeywordAmount,
): Promise<KeywordHits> {
  const find = async (operator: "and" | "or"): Promise<KeywordHit[]> => {
    const match = matchExpression(plan, operator);
    return match === null ? [] : (await matches(state, match, limit, allowed)).map(toHit);
  };
  if (mode !== "fill") return { hits: await find(mode), isWhole: true };
  const all = await find("and");
  // A query of one word or none has no hits of "some" words.
  const asked = new Set(plan.words.flatMap(({ terms }) => terms));
  if (asked.size < (plan.required.length > 0 ? 1 : 2)) return { hits: all, isWhole: true };
  if (all.length >= enough) return { hits: all, isWhole: false };
  const complete = new Set(all.map(({ chunk }) => chunk));
  const some = (await find("or")).filter(({ chunk }) => !complete.has(chunk));
  const hits = [...all.map((hit) => ({ ...hit, comesFirst: true })), ...some];
  return { hits, isWhole: true };
}

/** The chunks of so many items are looked up at most; of more, what the whole index finds is looked at. */
const FEW = 500;
/** So many times their chunks the instance must have for that: each of a few items may have thousands. */
const RARE = 8;
/** So many chunks that are known to match are told to FTS5. */
const KNOWN = 20_000;
/** How many more of the best are looked at than would be enough if hits were spread evenly, and then when it was not. */
const MARGIN = 1.5;
const WIDEN = 8;

async function matches(
  state: InstanceState,
  match: string,
  limit: number,
  allowed: Allowed | null,
): Promise<SqlRow[]> {
  const { index, keywords } = state;
  // bm25() is negative, better is smaller. It weighs by the whole index, whatever the filter.
  const best: Best = (most, narrowed = "", params = []) =>
    keywords.all(
      `SELECT rowid AS id, bm25(${index}, ${HEADING_WEIGHT}, 1.0, ${NAME_WEIGHT}) AS score FROM ${index}
        WHERE ${index} MATCH ? ${narrowed} ORDER BY score, rowid LIMIT ?`,
      [match, ...params, most],
      longQuery(state),
    );
  if (allowed === null) return best(limit);
  const { hits } = allowed;
  return hits === undefined
    ? amongItems(state, best, limit, allowed)
    : amongHits(hits, match, best, limit);
}

/** Asks for the best matches, of which `narrowed` may hold a condition. */
type Best = (most: number, narrowed?: string, params?: readonly SqlValue[]) => Promise<SqlRow[]>;

/** The best matches of some items. */
async function amongItems(
  state: InstanceState,
  best: Best,
  limit: number,
  { ids, chunks }: Allowed,
): Promise<SqlRow[]> {
  const share = Math.max(1, state.facts().chunks) / Math.max(1, chunks);
  if (ids.size <= FEW && share > RARE) {
    // The plus keeps FTS5 from running the whole query once per number (https://sqlite.org/optoverview.html, section 7).
    const narrowed = `AND +rowid IN (SELECT id FROM search_chunks WHERE actor = ? AND ${isOneOf("item_id", "TEXT")})`;
    return best(limit, narrowed, [state.actor, asSet([...ids])]);
  }
  for (let window = Math.ceil(limit * share * MARGIN); ; window *= WIDEN) {
    const rows = await best(window);
    const found = await ofItems(state, rows, ids);
    if (found.length >= limit || rows.length < window) return found.slice(0, limit);
  }
}

/** The best of some chunks that are known to match. */
async function amongHits(
  { all, own, found, isOwn, asked }: KnownHits,
  match: string,
  best: Best,
  limit: number,
): Promise<SqlRow[]> {
  const ofChunks = (chunks: Int32Array, most: number): Promise<SqlRow[]> =>
    best(most, `AND +${isOneOf("rowid", "BIGINT")}`, [asSet([...chunks])]);
  const owned = (rows: readonly SqlRow[]): SqlRow[] =>
    rows.filter((row) => isOwn(Number(row["id"])));
  if (all.length <= limit) {
    // The limit leaves none of them out: one answer is for all groups.
    const rows = asked.get(match) ?? ofChunks(all, all.length);
    asked.set(match, rows);
    return owned(await rows);
  }
  const share = found / Math.max(1, own.length);
  const isListed = own.length <= KNOWN;
  if (isListed && share > RARE) return ofChunks(own, limit);
  for (let window = Math.ceil(limit * share * MARGIN); ; window *= WIDEN) {
    const rows = await best(window);
    const some = owned(rows);
    if (some.length >= limit || rows.length < window) return some.slice(0, limit);
    if (isListed) return ofChunks(own, limit);
  }
}

/** The rows whose chunks belong to the items. */
async function ofItems(
  state: InstanceState,
  rows: readonly SqlRow[],
  items: ReadonlySet<string>,
): Promise<SqlRow[]> {
  const { actor, keywords } = state;
  const owners = await keywords.all(
    `SELECT id, item_id FROM search_chunks WHERE actor = ? AND ${isOneOf("id", "BIGINT")}`,
    [actor, asSet(rows.map((row) => Number(row["id"])))],
    longQuery(state),
  );
  const inside = new Set(
    owners.flatMap((row) => (items.has(String(row["item_id"])) ? [Number(row["id"])] : [])),
  );
  return rows.filter((row) => inside.has(Number(row["id"])));
}

function toHit(row: SqlRow): KeywordHit {
  const bm25 = Number((-Number(row["score"])).toPrecision(9));
  return { chunk: Number(row["id"]), bm25, value: bm25 };
}

/** Orders hits by their values, after those that come first were moved up. */
export function orderedHits(hits: readonly KeywordHit[]): KeywordHit[] {
  const first = hits.filter(({ comesFirst }) => comesFirst === true);
  const others = hits.filter(({ comesFirst }) => comesFirst !== true);
  return liftedAbove(others, first).toSorted((a, b) => b.value - a.value || a.chunk - b.chunk);
}

/** Returns all hits, with the first group moved up as a whole above the others, by no more than it takes. */
export function liftedAbove(
  others: readonly KeywordHit[],
  hits: readonly KeywordHit[],
): KeywordHit[] {
  const best = others.reduce((most, { value }) => Math.max(most, value), -Infinity);
  const least = hits.reduce((low, { value }) => Math.min(low, value), Infinity);
  const gap = Math.max(0, best - least);
  return [...(gap > 0 ? hits.map((hit) => ({ ...hit, value: hit.value + gap })) : hits), ...others];
}
