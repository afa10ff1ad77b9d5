import type { QueryOptions, SqlRow, Statement } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql-text.ts";
import type { InstanceSettings } from "../instance/instance-settings.ts";
import type { Allowed } from "./allowed-items.ts";
import type { InstanceState } from "../instance/instance-state.ts";
import { type KeywordTokenizer, matchExpression, queryTerms } from "./keyword-query.ts";
import { folded, segment } from "../text/segment.ts";

/** A chunk that the keyword leg found. */
export interface KeywordHit {
  readonly chunk: number;
  /** Raw BM25, higher is better. */
  readonly bm25: number;
  /** What hits are ordered by: BM25, with every hit of all terms lifted above those of some terms. */
  readonly value: number;
}

/** `"fill"` = hits of all terms first, then hits of some (docs/compatibility.md). */
export type KeywordMode = "and" | "or" | "fill";

/** How much a word in a heading outweighs one in the text. */
const HEADING_WEIGHT = "3.0";

/** The tokenizer of an instance. */
export function tokenizerOf(settings: InstanceSettings): KeywordTokenizer {
  return settings.indexing_options?.keyword_tokenizer ?? "porter";
}

/** Statements that (re)create the empty full-text table. */
export function createKeywordIndex(state: InstanceState, settings: InstanceSettings): Statement[] {
  const tokenize =
    tokenizerOf(settings) === "trigram"
      ? "trigram remove_diacritics 1"
      : "porter unicode61 remove_diacritics 2";
  return [
    { sql: `DROP TABLE IF EXISTS ${state.index}` },
    {
      sql: `CREATE VIRTUAL TABLE ${state.index} USING fts5 (heading, body, content = '', contentless_delete = 1, tokenize = '${tokenize}')`,
    },
  ];
}

/** Drops the full-text table. */
export function dropKeywordIndex(state: InstanceState): Statement {
  return { sql: `DROP TABLE IF EXISTS ${state.index}` };
}

/** Puts one chunk into the full-text table. */
export function insertKeywordRow(
  state: InstanceState,
  tokenizer: KeywordTokenizer,
  id: number,
  heading: string,
  text: string,
): Statement {
  const porter = tokenizer === "porter";
  const prepare = (source: string): string => (porter ? segment(source, "index") : folded(source));
  return {
    sql: `INSERT INTO ${state.index} (rowid, heading, body) VALUES (?, ?, ?)`,
    params: [id, prepare(heading), prepare(text)],
  };
}

/** Takes the chunks of an item out of the full-text table; run it before their rows go. */
export function removeKeywordRows(state: InstanceState, itemId: string): Statement {
  return {
    sql: `DELETE FROM ${state.index} WHERE rowid IN (SELECT id FROM search_chunks WHERE actor = ? AND item_id = ?)`,
    params: [state.actor, itemId],
  };
}

/** Fills the full-text table from the stored chunks: after a change of the tokenizer. */
export async function fillKeywordIndex(
  state: InstanceState,
  tokenizer: KeywordTokenizer,
): Promise<Statement[]> {
  const rows = await state.context.sql.all(
    "SELECT id, heading, text FROM search_chunks WHERE actor = ? ORDER BY id",
    [state.actor],
  );
  return rows.map((row) =>
    insertKeywordRow(
      state,
      tokenizer,
      Number(row["id"]),
      String(row["heading"]),
      String(row["text"]),
    ),
  );
}

/** The best chunks for a query by BM25, at most `limit`, ordered. Never fails on any query text. */
export async function keywordLeg(
  state: InstanceState,
  query: string,
  mode: KeywordMode,
  enough: number,
  limit: number,
  allowed: Allowed | null,
): Promise<KeywordHit[]> {
  const terms = queryTerms(query, tokenizerOf(state.facts().settings));
  const find = async (operator: "and" | "or"): Promise<KeywordHit[]> => {
    const match = matchExpression(terms, operator);
    return match === null ? [] : (await matches(state, match, limit, allowed)).map(toHit);
  };
  if (mode !== "fill") return find(mode);
  const all = await find("and");
  if (all.length >= enough || new Set(terms).size < 2) return all;
  return lifted(all, await find("or"));
}

/** Items up to which their chunks are looked up, instead of looking at what the whole index finds. */
const FEW = 500;
/** How many more of the best are looked at than would be enough if hits were spread evenly, and then when it was not. */
const MARGIN = 1.5;
const WIDEN = 8;

async function matches(
  state: InstanceState,
  match: string,
  limit: number,
  allowed: Allowed | null,
): Promise<SqlRow[]> {
  const { index, actor } = state;
  const { sql } = state.context;
  // bm25() is negative, better is smaller. It weighs by the whole index, whatever the filter.
  const best = (narrowed: string): string =>
    `SELECT rowid AS id, bm25(${index}, ${HEADING_WEIGHT}, 1.0) AS score FROM ${index}
      WHERE ${index} MATCH ? ${narrowed} ORDER BY score, rowid LIMIT ?`;
  const beside = besideOthers(state);
  if (allowed === null) return sql.all(best(""), [match, limit], beside);
  if (allowed.ids.size <= FEW) {
    // The plus keeps FTS5 from running the whole query once per number (https://sqlite.org/optoverview.html, section 7).
    const chunks = `AND +rowid IN (SELECT id FROM search_chunks WHERE actor = ? AND ${isOneOf("item_id", "TEXT")})`;
    return sql.all(best(chunks), [match, actor, asSet([...allowed.ids]), limit], beside);
  }
  const share = Math.max(1, state.facts().chunks) / Math.max(1, allowed.chunks);
  for (let window = Math.ceil(limit * share * MARGIN); ; window *= WIDEN) {
    const rows = await sql.all(best(""), [match, window], beside);
    const found = await ofItems(state, rows, allowed.ids);
    if (found.length >= limit || rows.length < window) return found.slice(0, limit);
  }
}

/** Below that many chunks FTS5 answers sooner than a thread would. */
const FAST_CHUNKS = 2000;

/** Has a query run beside the event loop where that is worth it. */
export function besideOthers(state: InstanceState): QueryOptions {
  return state.facts().chunks < FAST_CHUNKS ? {} : { long: state.actor };
}

/** The rows whose chunks belong to the items. */
async function ofItems(
  state: InstanceState,
  rows: readonly SqlRow[],
  items: ReadonlySet<string>,
): Promise<SqlRow[]> {
  const { actor, context } = state;
  const owners = await context.sql.all(
    `SELECT id, item_id FROM search_chunks WHERE actor = ? AND ${isOneOf("id", "BIGINT")}`,
    [actor, asSet(rows.map((row) => Number(row["id"])))],
    besideOthers(state),
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

/** Hits of all terms, then the others. The first group moves up as a whole, by no more than it takes. */
function lifted(all: readonly KeywordHit[], some: readonly KeywordHit[]): KeywordHit[] {
  const complete = new Set(all.map((hit) => hit.chunk));
  const rest = some.filter((hit) => !complete.has(hit.chunk));
  const gap = (rest[0]?.bm25 ?? 0) - (all.at(-1)?.bm25 ?? 0);
  return [...all.map((hit) => ({ ...hit, value: hit.bm25 + Math.max(0, gap) })), ...rest];
}
