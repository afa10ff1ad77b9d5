import type { KeywordPlan } from "../query/keyword-plan.ts";
import { stem } from "../text/porter.ts";
import {
  folded,
  isPaired,
  isSingleCharacter,
  splitByScript,
  withoutAccents,
  words,
} from "../text/segment.ts";

/** A part of a text, in UTF-16 units. */
export interface Mark {
  readonly start: number;
  readonly end: number;
}

/** A function that finds the words and phrases that a query looks for in a text, in order, without overlaps. */
export function marksIn(plan: KeywordPlan): (text: string) => Mark[] {
  const wanted = [
    ...plan.words.flatMap(({ terms, others }) => [...terms, ...others]),
    ...plan.required,
  ];
  if (plan.tokenizer === "trigram") return (text) => merged(occurrences(text, wanted));
  const runs = wanted.map((one) => words(one, "query").map(stem)).filter((run) => run.length > 0);
  const byFirst = Map.groupBy(runs, ([first]) => first ?? "");
  // A single character of a script without spaces finds all that begins with it.
  const singles = runs.flatMap((run) => (run.length === 1 ? run.filter(isSingleCharacter) : []));
  return (text) => {
    const tokens = tokensOf(text);
    const stems = tokens.map(({ word }) => stem(word));
    const marks: Mark[] = [];
    for (const [at, token] of tokens.entries()) {
      for (const run of byFirst.get(stems[at] ?? "") ?? []) {
        const last = tokens[at + run.length - 1];
        if (last !== undefined && run.every((one, n) => stems[at + n] === one))
          marks.push({ start: token.start, end: last.end });
      }
      if (singles.some((one) => token.word.startsWith(one))) marks.push(token.first ?? token);
    }
    return merged(marks);
  };
}

/** The places of texts within a text as an index of trigrams sees them. */
function occurrences(text: string, wanted: readonly string[]): Mark[] {
  const letters = lettersOf(text);
  const plain = letters.map(({ word }) => word).join("");
  const marks: Mark[] = [];
  for (const one of wanted) {
    for (let at = plain.indexOf(one); at >= 0; at = plain.indexOf(one, at + one.length)) {
      const [start, end] = [letters[at], letters[at + one.length - 1]];
      if (start !== undefined && end !== undefined)
        marks.push({ start: start.start, end: end.end });
    }
  }
  return marks;
}

/** Each UTF-16 unit of the folded text, with what it was made of. */
function lettersOf(text: string): Token[] {
  const out: Token[] = [];
  for (const { 0: letter, index } of text.matchAll(/\P{M}\p{M}*|\p{M}+/gu)) {
    const made = withoutAccents(folded(letter));
    for (let n = 0; n < made.length; n++)
      out.push({ word: made.charAt(n), start: index, end: index + letter.length });
  }
  return out;
}

function merged(marks: readonly Mark[]): Mark[] {
  const out: { start: number; end: number }[] = [];
  for (const { start, end } of marks.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = out.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else out.push({ start, end });
  }
  return out;
}

/** A word as the index holds it, and where it stands in the text (UTF-16 units). */
export interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** The place of the first character when the token is a pair of characters. */
  readonly first?: { readonly start: number; readonly end: number };
}

/** The words of a text, in order, in the form of `words()`, with their places. */
function tokensOf(text: string): Token[] {
  return splitByScript(text).flatMap(({ text: piece, start, unspaced }) => {
    if (!unspaced) return [{ word: plain(piece), start, end: start + piece.length }];
    return isPaired(piece) ? pairsOf(piece, start) : dictionaryWordsOf(piece, start);
  });
}

const plain = (text: string): string => withoutAccents(folded(text));

/** A character with the marks on it; those of half-width kana are letters. */
const CHARACTER = /\P{M}[\p{M}\uff9e\uff9f]*/gu;

function pairsOf(piece: string, from: number): Token[] {
  const characters: Token[] = [];
  for (const { 0: raw, index } of piece.matchAll(CHARACTER)) {
    const start = from + index;
    for (const word of plain(raw)) characters.push({ word, start, end: start + raw.length });
  }
  if (characters.length === 1) return characters;
  return characters.flatMap((one, at) => {
    const next = characters[at + 1];
    // The last one stands alone, so that it can be found by itself.
    if (next === undefined) return [one];
    return [{ word: one.word + next.word, start: one.start, end: next.end, first: one }];
  });
}

function dictionaryWordsOf(piece: string, from: number): Token[] {
  const segmenter = new Intl.Segmenter("th", { granularity: "word" });
  return [...segmenter.segment(piece)].map(({ segment, index }) => ({
    word: plain(segment),
    start: from + index,
    end: from + index + segment.length,
  }));
}
