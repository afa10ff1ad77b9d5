import type { SqlRow } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { longQuery } from "../query/long-query.ts";
import type { KeywordPlan, WordChoice } from "../query/keyword-plan.ts";
import { KEYWORD_COLUMNS } from "../keyword/keyword-index.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { nameWords } from "../text/name-words.ts";
import { stem } from "../text/porter.ts";
import { type TermScanner, termScanner } from "../text/term-scanner.ts";
import { type KeywordHit, liftedAbove } from "./keyword-leg.ts";

/** The best hits that are looked at again. */
const LOOKED_AT = 30;
/** An item of more chunks counts by the chunk that was found alone, which is as long as a text of few chunks. */
const MOST_CHUNKS = 8;
/** Bytes of a chunk that is read. */
const MOST_BYTES = 8192;
/** Characters that are scanned in one turn: a few ms of work. */
const TURN = 128 * 1024;
/** How soon a repeated word counts no more, how much long texts lose, and the weight of the words of headings and names. */
const K1 = 1.6;
const B = 0.4;
const HEADING = 2;
const NAME = 1;
/** The weight of other forms and compounds of a word, as a share of the word's own. */
const OTHER = 0.9;

/**
 * Weighs the best hits again: half by their chunk, half by the BM25 of the whole item that the chunk is from. A text that is
 * cut into chunks says less in each of them. Queries with phrases, and trigrams, keep what FTS5 says.
 */
export async function weighedByItems(
  state: InstanceState,
  plan: KeywordPlan,
  hits: readonly KeywordHit[],
): Promise<readonly KeywordHit[]> {
  const terms = plan.words.flatMap((one) => [...one.terms, ...one.others]);
  const isPlain = plan.required.length === 0 && !terms.some((term) => term.includes(" "));
  if (hits.length < 2 || !isPlain || plan.tokenizer === "trigram") return hits;
  // With those that are as good as the last of them: equal hits have to stay equal.
  const end = hits.findIndex(
    ({ value }, at) => at >= LOOKED_AT && value !== hits[LOOKED_AT - 1]?.value,
  );
  const best = end < 0 ? hits : hits.slice(0, end);
  const scores = await itemScores(state, plan.words, best);
  const looked = best.map((hit): KeywordHit => {
    const score = scores.get(hit.chunk);
    return score === undefined
      ? hit
      : { ...hit, value: (hit.value * score.share + score.value) / 2 };
  });
  return liftedAbove(hits.slice(best.length), looked);
}

/** The BM25 of a text, and what share that is of what it would be if what stands for a word weighed as rare as it is. */
interface ItemScore {
  readonly value: number;
  readonly share: number;
}

/** Returns the score of the whole item of each hit, by its chunk; chunks that are too long to be read are missing. */
async function itemScores(
  state: InstanceState,
  words: readonly WordChoice[],
  hits: readonly KeywordHit[],
): Promise<ReadonlyMap<number, ItemScore>> {
  const weights = await weightsOf(state, words);
  const stems = [...weights.keys()];
  const scan = termScanner(stems);
  const bags: Bag[] = [];
  let scanned = 0;
  for (const rows of await textsOf(state, hits)) {
    if (scanned > TURN) {
      await state.context.system.sleep(0);
      scanned = 0;
    }
    const bag = bagOf(rows, scan, stems.length);
    scanned += bag.size;
    bags.push(bag);
  }
  const own = [...weights.values()].map((one) => one.own);
  const raw = [...weights.values()].map((one) => one.raw);
  const isPlain = words.every(({ others }) => others.length === 0);
  const mean = bags.reduce((sum, { length }) => sum + length, 0) / Math.max(1, bags.length);
  return new Map(
    bags.flatMap((bag) => {
      const value = bm25(bag, own, mean);
      const score = { value, share: isPlain ? 1 : value / Math.max(value, bm25(bag, raw, mean)) };
      return bag.chunks.map((chunk) => [chunk, score] as const);
    }),
  );
}

interface StemWeight {
  readonly own: number;
  /** As FTS5 weighs it. */
  readonly raw: number;
}

/**
 * Returns how rare each stem is; a repeated word weighs more, and one that most chunks have next to nothing, as in FTS5. What
 * stands for a word weighs no more than the word: a compound of it is rarer, but not what was asked for.
 */
async function weightsOf(
  state: InstanceState,
  words: readonly WordChoice[],
): Promise<ReadonlyMap<string, StemWeight>> {
  const terms = words.flatMap((one) => [...one.terms, ...one.others]);
  const counts = await state.termCounts.of([...new Set(terms)], longQuery(state));
  const { chunks } = state.facts();
  const weights = new Map<string, StemWeight>();
  const rarity = (term: string): number => {
    const having = counts.get(term) ?? 0;
    return Math.max(1e-6, Math.log((chunks - having + 0.5) / (having + 0.5)));
  };
  const add = (term: string, most: number): void => {
    const { own, raw } = weights.get(stem(term)) ?? { own: 0, raw: 0 };
    const weight = rarity(term);
    weights.set(stem(term), { own: own + Math.min(most, weight), raw: raw + weight });
  };
  for (const { terms: own, others } of words) {
    const most = Math.max(...own.map(rarity));
    for (const term of own) add(term, most);
    for (const other of others) add(other, OTHER * most);
  }
  return weights;
}

/** Returns the rows that count as one text each: all chunks of a short item, or the chunk that was found of a longer one. */
async function textsOf(
  { actor, context: { sql } }: InstanceState,
  hits: readonly KeywordHit[],
): Promise<readonly (readonly SqlRow[])[]> {
  const found = asSet(hits.map(({ chunk }) => chunk));
  const rows = await sql.all(
    `SELECT c.id, c.item_id, c.heading, c.text, i.key, i.chunks FROM search_items i
      JOIN search_chunks c ON c.actor = i.actor AND c.item_id = i.id
      WHERE i.actor = ? AND i.id IN (SELECT item_id FROM search_chunks WHERE actor = ? AND ${isOneOf("id", "BIGINT")})
      AND i.chunks <= ${MOST_CHUNKS} AND c.end_byte - c.start_byte <= ${MOST_BYTES}`,
    [actor, actor, found],
  );
  const items = [...Map.groupBy(rows, (row) => String(row["item_id"])).values()];
  // An item of which a chunk was left out is not whole.
  const whole = items.filter((own) => own.length === Number(own[0]?.["chunks"]));
  const known = new Set(rows.map((row) => Number(row["id"])));
  const others = hits.flatMap(({ chunk }) => (known.has(chunk) ? [] : [chunk]));
  if (others.length === 0) return whole;
  const alone = await sql.all(
    `SELECT ${KEYWORD_COLUMNS}
      WHERE c.actor = ? AND ${isOneOf("c.id", "BIGINT")} AND c.end_byte - c.start_byte <= ${MOST_BYTES}`,
    [actor, asSet(others)],
  );
  return [...whole, ...alone.map((row) => [row])];
}

/** How often a text holds each stem, and its length in words and in characters. */
interface Bag {
  readonly chunks: readonly number[];
  readonly counts: Float64Array;
  readonly length: number;
  readonly size: number;
}

function bagOf(rows: readonly SqlRow[], scan: TermScanner, stems: number): Bag {
  const counts = new Float64Array(stems);
  const headings = new Float64Array(stems);
  let length = 0;
  let size = 0;
  for (const row of rows) {
    const text = String(row["text"]);
    size += text.length;
    length += scan(text, (at) => {
      counts[at] = (counts[at] ?? 0) + 1;
    });
    // The chunks of an item share most of their headings.
    const own = new Float64Array(stems);
    scan(String(row["heading"]), (at) => {
      own[at] = (own[at] ?? 0) + HEADING;
    });
    for (const [at, count] of own.entries()) headings[at] = Math.max(headings[at] ?? 0, count);
  }
  scan(nameWords(String(rows[0]?.["key"] ?? "")), (at) => {
    counts[at] = (counts[at] ?? 0) + NAME;
  });
  const chunks = rows.map((row) => Number(row["id"]));
  return { chunks, counts: counts.map((count, at) => count + (headings[at] ?? 0)), length, size };
}

/** BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009). */
function bm25({ counts, length }: Bag, weights: readonly number[], mean: number): number {
  const damping = K1 * (1 - B + (B * length) / Math.max(1, mean));
  return counts.reduce(
    (sum, count, at) => sum + ((weights[at] ?? 0) * count * (K1 + 1)) / (count + damping),
    0,
  );
}
