import { folded, isSingleCharacter, withoutAccents, words } from "../text/segment.ts";
import { isStopWord } from "../text/stop-words.ts";

/** How the keyword index splits text: words with English stemming, or runs of three characters. */
export type KeywordTokenizer = "porter" | "trigram";

/** Terms of one query: an OR of thousands of terms takes a tenth of a second (docs/compatibility.md). */
export const MAX_TERMS: number = 64;
/** Characters of a query that are looked at, so that any accepted query ends in bounded time. */
const MAX_CHARACTERS = 8_192;
/** Longer words than this cannot be typed, only pasted. */
const MAX_WORD = 64;

/**
 * Returns the terms that a query asks for. Repeated ones are kept, they weigh more; stop words go, unless there is nothing
 * else.
 */
export function queryTerms(query: string, tokenizer: KeywordTokenizer): string[] {
  const text = query.slice(0, MAX_CHARACTERS).toWellFormed();
  const all =
    tokenizer === "trigram"
      ? (withoutAccents(folded(text)).match(/[\p{L}\p{N}\p{M}]{3,}/gu) ?? [])
      : words(text.replace(KOREAN_VERB, ""), "query");
  const topical = all.filter((word, at) => !isStopWord(word) && !asksForAmount(word, all[at - 1]));
  return (topical.length > 0 ? topical : all)
    .slice(0, MAX_TERMS)
    .map((word) => word.slice(0, MAX_WORD));
}

/** The ending by which dictionaries name a Korean verb; texts have others in its place. */
const KOREAN_VERB = /(?<=\p{Script=Hangul}{2})다(?![\p{L}\p{M}])/gu;

const AMOUNTS: ReadonlySet<string> = new Set(
  "big fast far high large long many much often old small soon".split(" "),
);

/** Whether a word only asks with the one before it, as in "how long": documents answer with an amount, not with the word. */
function asksForAmount(word: string, before: string | undefined): boolean {
  return before === "how" && AMOUNTS.has(word);
}

/** Returns a phrase as the index holds it: its words joined by blanks, stop words included; empty without words. */
export function phraseOf(text: string, tokenizer: KeywordTokenizer): string {
  if (tokenizer === "porter") return words(text, "query").join(" ").slice(0, MAX_CHARACTERS);
  const plain = withoutAccents(folded(text.toWellFormed()));
  const letters = plain.replace(/[\p{C}\s]+/gu, " ").trim();
  return /[\p{L}\p{N}]/u.test(letters) && letters.length > 2 ? letters : "";
}

/** Writes a term or a phrase in the syntax of FTS5. Quoted, so that no user text is read as query syntax. */
export function quoted(term: string): string {
  return isSingleCharacter(term) ? `"${term}" *` : `"${term.replaceAll('"', '""')}"`;
}
