import * as v from "valibot";
import { stem } from "../text/porter.ts";
import { type KeywordTokenizer, phraseOf, queryTerms } from "./query-terms.ts";

/** Words and phrases that also count as a word or a phrase, by it. */
export type Synonyms = Readonly<Record<string, readonly string[]>>;

/** Entries of one instance, and the synonyms of one entry. */
const MAX_KEYS = 1_000;
const MAX_VALUES = 16;

const phrase = v.pipe(
  v.string(),
  v.maxLength(64),
  v.regex(/[\p{L}\p{N}]/u, "expected a word or a phrase"),
);

/** `synonyms` of an instance. */
export const synonyms: v.GenericSchema<unknown, Synonyms> = v.pipe(
  v.record(phrase, v.pipe(v.array(phrase), v.maxLength(MAX_VALUES))),
  v.check(
    (all) => Object.keys(all).length <= MAX_KEYS,
    `expected at most ${MAX_KEYS} words with synonyms`,
  ),
);

/** Words of the longest key that is looked for. */
const LONGEST = 4;

/** The synonyms of an instance, ready to be looked up. */
export interface SynonymIndex {
  /** Returns the synonyms of the longest key that begins at a place of a query's terms; null without one. */
  at(
    terms: readonly string[],
    place: number,
  ): { readonly length: number; readonly others: readonly string[] } | null;
}

const NONE: SynonymIndex = { at: () => null };

/** Made once for each object of settings. */
const made = new WeakMap<Synonyms, SynonymIndex>();

/** Returns the index of an instance's synonyms. A key is known by the stems of its words. */
export function synonymIndex(
  given: Synonyms | null | undefined,
  tokenizer: KeywordTokenizer,
): SynonymIndex {
  if (given === null || given === undefined) return NONE;
  const known = made.get(given);
  if (known !== undefined) return known;
  const byKey = new Map<string, string[]>();
  for (const [key, values] of Object.entries(given)) {
    const others = values.map((value) => phraseOf(value, tokenizer)).filter((one) => one !== "");
    const name = nameOf(queryTerms(key, tokenizer));
    if (name !== "") byKey.set(name, [...(byKey.get(name) ?? []), ...others]);
  }
  const index: SynonymIndex = {
    at(terms, place) {
      for (let length = Math.min(LONGEST, terms.length - place); length > 0; length--) {
        const others = byKey.get(nameOf(terms.slice(place, place + length)));
        if (others !== undefined) return { length, others };
      }
      return null;
    },
  };
  made.set(given, index);
  return index;
}

function nameOf(terms: readonly string[]): string {
  return terms.map(stem).join(" ");
}
