import { stem } from "./porter.ts";
import { words } from "./segment.ts";

/**
 * Reads a text, calls back with the place of a term in the list for each word that is the term or has it as its stem, and
 * returns how many words there are.
 */
export type TermScanner = (text: string, visit: (term: number) => void) => number;

/** The code in lower case of an ASCII letter or digit; 0 for all others. */
const LETTERS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase();
  return /[a-z0-9]/.test(letter) ? letter.charCodeAt(0) : 0;
});
/** Stands for every character beyond ASCII. */
const OTHER = 128;

/** Makes a scanner of terms. Only words that begin like one of them are looked at: a stem keeps the first two letters. */
export function termScanner(terms: readonly string[]): TermScanner {
  const places = new Map(terms.map((term, place) => [term, place]));
  const heads = new Set(terms.map((term) => term.slice(0, 2)));
  const asciiHeads = new Uint8Array(128 * 128);
  for (const head of heads) {
    const [first, second] = [head.charCodeAt(0), head.charCodeAt(1) || 0];
    if (first < 128 && second < 128) asciiHeads[first * 128 + second] = 1;
  }
  const known = new Map<string, readonly number[]>();
  const placesOf = (word: string): readonly number[] => {
    const found = known.get(word);
    if (found !== undefined) return found;
    const own = [...new Set([word, stem(word)])].flatMap((one) => places.get(one) ?? []);
    known.set(word, own);
    return own;
  };
  return (text, visit) => {
    let count = 0;
    // A pattern would take ten times as long. Only what stands between two ASCII characters is folded, if it has others.
    for (let at = 0; at < text.length; at++) {
      const first = letterAt(text, at);
      if (first === 0) continue;
      const start = at;
      const second = letterAt(text, ++at);
      let isAscii = first !== OTHER;
      for (let code = second; code !== 0; code = letterAt(text, ++at)) isAscii &&= code !== OTHER;
      if (!isAscii) {
        const own = words(text.slice(start, at), "index");
        count += own.length;
        for (const word of own) if (heads.has(word.slice(0, 2))) placesOf(word).forEach(visit);
        continue;
      }
      count++;
      if (asciiHeads[first * 128 + second] === 1)
        placesOf(text.slice(start, at).toLowerCase()).forEach(visit);
    }
    return count;
  };
}

function letterAt(text: string, at: number): number {
  if (at >= text.length) return 0;
  const code = text.charCodeAt(at);
  return code < 128 ? (LETTERS[code] ?? 0) : OTHER;
}
