import { isSingleCharacter } from "../text/segment.ts";
import { stem } from "../text/porter.ts";
import { isStopWord } from "../text/stop-words.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { longQuery } from "./long-query.ts";
import { following, spelled } from "./typo-spellings.ts";

/** Letters from which a word is completed: of one letter nearly every chunk has a word. */
const LEAST = 2;
/** Completions of a word, words of the index that are looked at for them, and those of them that leave the database. */
const MAX_COMPLETIONS = 12;
const MAX_LOOKED_AT = 20_000;
const MAX_WEIGHED = 200;
/** Chunks that the completions have together: what a query costs grows with them. */
const MAX_CHUNKS = 20_000;
/** The same where chunks count that hold some words of the query: each is weighed, and the other words bring enough of them. */
const MAX_CHUNKS_OF_SOME = 4_000;

/** Endings that stemming takes off, of which the beginning may have been typed. */
const ENDINGS: readonly string[] = (
  "ing ings ed er ers es ly ment ments ness ation ations ational ator able ability ally ance ence ive ity ion ions ies ication " +
  "ization ful fully"
).split(" ");
/** Letters of an ending that may have been typed. */
const LONGEST_ENDING = 7;

/** Words that begin with what was typed. */
export interface Completions {
  readonly completions: readonly string[];
  /** Those of them that are looked for only together with the other words of the query. */
  readonly frequent: readonly string[];
}

/**
 * Finds words of the instance that begin with what was typed of a word, the most frequent first. The index holds stems: of
 * "renderi" the stem "render" is found, too.
 */
export async function completionsOf(state: InstanceState, typed: string): Promise<Completions> {
  if (typed.length < LEAST || isSingleCharacter(typed)) return { completions: [], frequent: [] };
  const begun = stemsBegunBy(typed);
  const last = [...typed].at(-1) ?? "";
  const rows = await state.keywords.all(
    `SELECT term, doc FROM
        (SELECT term, doc FROM ${await state.keywords.words()} WHERE term >= ? AND term < ? LIMIT ${MAX_LOOKED_AT}) AS begun
      WHERE doc <= ? ORDER BY doc DESC, term LIMIT ${MAX_WEIGHED}`,
    [typed, `${typed.slice(0, -last.length)}${following(last)}`, MAX_CHUNKS],
    longQuery(state),
  );
  const found = new Map(rows.map((row) => [String(row["term"]), Number(row["doc"])]));
  const counts = await state.termCounts.of([...begun.values()], longQuery(state));
  for (const [stemmed, word] of begun) {
    const chunks = counts.get(word) ?? 0;
    if (chunks > 0) found.set(stemmed, chunks);
  }
  found.delete(stem(typed));
  const sorted = [...found].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const completions = withinBudget(sorted);
  const rare = new Set(withinBudget(sorted, MAX_CHUNKS_OF_SOME));
  return { completions, frequent: completions.filter((word) => !rare.has(word)) };
}

/** Returns the words that fit, as they are asked for. A word that most chunks have says too little for its cost. */
export function withinBudget(
  found: readonly (readonly [stem: string, chunks: number])[],
  most: number = MAX_CHUNKS,
  words: number = MAX_COMPLETIONS,
): string[] {
  const out: string[] = [];
  let left = most;
  for (const [stemmed, chunks] of found) {
    if (out.length === words) break;
    const word = chunks > left ? null : spelled(stemmed);
    if (word === null || isStopWord(word)) continue;
    out.push(word);
    left -= chunks;
  }
  return out;
}

/** Returns the stems that are shorter than what was typed, each with a word of that stem which begins with it. */
function stemsBegunBy(typed: string): Map<string, string> {
  const out = new Map<string, string>();
  for (let length = typed.length - 1; length >= typed.length - LONGEST_ENDING; length--) {
    const root = typed.slice(0, Math.max(0, length));
    if (root.length < LEAST) break;
    for (const ending of ENDINGS) {
      const word = root + ending;
      if (word.startsWith(typed) && stem(word).length <= length) out.set(stem(word), word);
    }
  }
  return out;
}
