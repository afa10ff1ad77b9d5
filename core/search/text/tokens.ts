import { folded, isPaired, splitByScript, withoutAccents } from "./segment.ts";

/** A word as the index holds it, and where it stands in the text (UTF-16 units). */
export interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  /** Of a pair of characters, where the first one stands. */
  readonly first?: { readonly start: number; readonly end: number };
}

/** The words of a text, in order, in the form of `words()`, with their places. */
export function tokensOf(text: string): Token[] {
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
