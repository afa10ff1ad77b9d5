import { stem } from "../text/porter.ts";
import { isSingleCharacter } from "../text/segment.ts";
import { stemmerOf, type WordStemmer } from "../text/stemmers.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { withinBudget } from "./completions.ts";
import { COMPOUNDING, compoundsOf } from "./compounds.ts";
import { longQuery } from "./long-query.ts";
import { beginningsIn, spellingsIn, withoutUmlauts } from "./spellings.ts";
import { following } from "./typo-spellings.ts";

/** Letters of a stem from which other forms are looked for: shorter ones begin too many words. */
const LEAST = 2;
/** Words of the index that are looked at for one stem, and words of a query whose other forms are looked for. */
const MAX_LOOKED_AT = 1_000;
const MAX_WORDS = 16;

/**
 * Finds words of the instance with the same stem in one of its languages, and compounds that end with one of them: the index stems English only, and of "Häusern" finds no
 * "Haus". Looked for when somebody asks, so that items need not be indexed again.
 */
export async function otherForms(
  state: InstanceState,
  words: readonly string[],
  query = "",
): Promise<ReadonlyMap<string, readonly string[]>> {
  const languages = await state.languages.of(state.facts().nextChunk);
  const out = new Map<string, readonly string[]>();
  if (languages.length === 0) return out;
  const stemmers = await Promise.all(languages.map(stemmerOf));
  const compounding = stemmers.filter((_, n) => COMPOUNDING.includes(languages[n] ?? ""));
  const spelt = languages.includes("german") ? withoutUmlauts(query) : new Map<string, string>();
  const looked = [...new Set(words)].filter(
    (word) => !isSingleCharacter(word) && !/\p{N}/u.test(word),
  );
  for (const word of looked.slice(0, MAX_WORDS)) {
    const found = new Map<string, number>();
    const written = [word, ...[spelt.get(word) ?? []].flat()];
    for (const [n, stemmed] of stemmers.entries()) {
      const language = languages[n] ?? "german";
      const spellings = written.flatMap((one) => spellingsIn(language, one));
      for (const root of new Set(spellings.map(stemmed))) {
        if (root.length < LEAST) continue;
        for (const beginning of beginningsIn(language, root))
          for (const [term, chunks] of await wordsFrom(state, beginning))
            if (isFormOf(root, term, stemmed)) found.set(term, chunks);
        // Stemming a thousand words takes milliseconds: others may go on.
        await state.context.system.sleep(0);
      }
    }
    found.delete(stem(word));
    const forms = [...found].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    const others = [...withinBudget(forms), ...(await compoundsOf(state, word, compounding))];
    if (others.length > 0) out.set(word, [...new Set(others)]);
  }
  return out;
}

/** Endings of words in other languages that English stemming has taken off in the index: "haus" is "hau" there. */
const TAKEN_OFF: readonly string[] = ["", "s", "e"];

function isFormOf(root: string, term: string, stemmed: WordStemmer): boolean {
  return TAKEN_OFF.some((ending) => {
    const word = term + ending;
    return stem(word) === term && stemmed(word) === root;
  });
}

/** Words of the index that begin like a stem, as English stemming leaves it, with how many chunks have them. */
async function wordsFrom(
  state: InstanceState,
  root: string,
): Promise<readonly (readonly [term: string, chunks: number])[]> {
  const begin = stem(root).length < root.length && root.startsWith(stem(root)) ? stem(root) : root;
  const last = [...begin].at(-1) ?? "";
  const rows = await state.keywords.all(
    `SELECT term, doc FROM ${await state.keywords.words()} WHERE term >= ? AND term < ? LIMIT ${MAX_LOOKED_AT}`,
    [begin, `${begin.slice(0, -last.length)}${following(last)}`],
    longQuery(state),
  );
  return rows.map((row) => [String(row["term"]), Number(row["doc"])] as const);
}
