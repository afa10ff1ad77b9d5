import { editDistance } from "../../text/nearest.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { longQuery } from "./long-query.ts";
import { stem } from "../text/porter.ts";
import { words } from "../text/segment.ts";
import { type TypoTolerance, typosAllowed } from "../terms/typo-tolerance.ts";

/** Unknown words of one query that are looked up, spellings of one, and words of the index that one is compared with. */
const MAX_WORDS = 8;
const MAX_SPELLINGS = 3;
const MAX_COMPARED = 20_000;
/** Letters of a word that is compared with the beginning of one. */
const LONGEST_WORD = 64;
/** Words that are compared before others may go on: a few milliseconds. */
const SLICE = 1_000;

/**
 * Finds words of the instance that unknown words are likely misspellings of, nearest first. Their first letter must be
 * right. Words with digits are names and numbers, which stay as they are. Of `begun`, a word that is not typed to its end, the
 * beginnings of words are compared.
 */
export async function typoSpellings(
  state: InstanceState,
  terms: readonly string[],
  tolerance: TypoTolerance,
  begun: string | null = null,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const out = new Map<string, readonly string[]>();
  if (tolerance.enabled === false) return out;
  const kept = new Set(
    (tolerance.disable_on_words ?? []).flatMap((word) => words(word, "query").map(stem)),
  );
  const candidates = [...new Set(terms)].filter(
    (term) =>
      /^[\p{L}\p{M}]+$/u.test(term) &&
      !kept.has(stem(term)) &&
      typosAllowed(lengthOf(term), tolerance) > 0,
  );
  if (candidates.length === 0) return out;
  const counts = await state.termCounts.of(candidates, longQuery(state));
  const unknown = candidates.filter((term) => counts.get(term) === 0).slice(0, MAX_WORDS);
  if (unknown.length === 0) return out;
  for (const term of unknown)
    out.set(
      term,
      await spellingsOf(state, term, typosAllowed(lengthOf(term), tolerance), term === begun),
    );
  return out;
}

/** Returns the words nearest to a term, most frequent first among equally near ones. */
async function spellingsOf(
  state: InstanceState,
  term: string,
  allowed: number,
  isBegun: boolean,
): Promise<readonly string[]> {
  const { system } = state.context;
  const [first = ""] = term;
  // Stems are compared with stems; the index holds nothing else.
  const own = stem(term);
  const rows = await state.keywords.all(
    `SELECT term, doc FROM ${await state.keywords.words()}
      WHERE term >= ? AND term < ? AND LENGTH(term) BETWEEN ? AND ? LIMIT ${MAX_COMPARED}`,
    [
      first,
      following(first),
      lengthOf(own) - allowed,
      isBegun ? LONGEST_WORD : lengthOf(term) + allowed,
    ],
    longQuery(state),
  );
  const near: { readonly word: string; readonly distance: number; readonly chunks: number }[] = [];
  for (const [n, row] of rows.entries()) {
    const word = String(row["term"]);
    const distances = isBegun
      ? beginningsOf(word, term.length).map((one) => editDistance(term, one, allowed))
      : [editDistance(own, word, allowed), editDistance(term, word, allowed)];
    const distance = Math.min(...distances);
    if (distance <= allowed) near.push({ word, distance, chunks: Number(row["doc"]) });
    if (n % SLICE === SLICE - 1) await system.sleep(0);
  }
  return near
    .toSorted((a, b) => a.distance - b.distance || b.chunks - a.chunks || compare(a.word, b.word))
    .flatMap(({ word }) => spelled(word) ?? [])
    .slice(0, MAX_SPELLINGS);
}

/** Returns the beginnings of a word that may have been typed in so many letters, with one too many or too few. */
function beginningsOf(word: string, typed: number): string[] {
  return [typed - 1, typed, typed + 1].map((length) => word.slice(0, length));
}

/** Endings that stemming takes off again, tried in this order. */
const ENDINGS: readonly string[] = ["", "e", "ing", "ed", "s", "ment", "ness"];

/**
 * Returns a word whose stem is the given one: FTS5 stems a query, and the stem of a stem is sometimes another. Null when no
 * ending leads back.
 */
export function spelled(stemmed: string): string | null {
  const roots = stemmed.endsWith("i") ? [stemmed, `${stemmed.slice(0, -1)}y`] : [stemmed];
  for (const root of roots)
    for (const ending of ENDINGS) if (stem(root + ending) === stemmed) return root + ending;
  return null;
}

/** Returns the least text behind all that begin with a character. */
export function following(character: string): string {
  return String.fromCodePoint((character.codePointAt(0) ?? 0) + 1);
}

const lengthOf = (word: string): number => [...word].length;

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
