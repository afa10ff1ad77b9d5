import type { StemmedLanguage } from "../text/languages.ts";
import { words } from "../text/segment.ts";

/** Letters of a word that another spelling makes: shorter ones are often words of their own, as "Poet" and "Pot". */
const LEAST = 5;

/** Particles that Arabic writes in one word with the next one. */
const ARABIC = "ال بال وبال كال فال وال لل و ب ل ف ك".split(" ");

/**
 * Returns how a word of a query may be written in a language: as the index has it, so "ü" is "u" there. A German "ue" may stand for
 * an "ü", except in "neue", "Frauen" and "Quelle".
 */
export function spellingsIn(language: StemmedLanguage, word: string): readonly string[] {
  if (language !== "german") return [word];
  const short = word.replace(/([ao])e/gu, "$1").replace(/(?<![aeq])ue/gu, "u");
  return short === word || short.length < LEAST ? [word] : [word, short];
}

/** Returns what words of a language may begin with that have a root. */
export function beginningsIn(language: StemmedLanguage, root: string): readonly string[] {
  return language === "arabic" ? [root, ...ARABIC.map((particle) => particle + root)] : [root];
}

const TWO_LETTERS: ReadonlyMap<string, string> = new Map([
  ["ä", "ae"],
  ["ö", "oe"],
  ["ü", "ue"],
]);

/** Returns the words of a query that have umlauts, as the index has them, with their spelling in other letters. */
export function withoutUmlauts(query: string): ReadonlyMap<string, string> {
  const out = new Map<string, string>();
  for (const [word] of query
    .normalize("NFC")
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}]+/gu)) {
    const spelt = word.replace(/[äöü]/gu, (letter) => TWO_LETTERS.get(letter) ?? letter);
    if (spelt === word) continue;
    const [indexed = "", other = ""] = [word, spelt].map((one) => words(one, "query").join(" "));
    out.set(indexed, other);
  }
  return out;
}
