import { countTokens as defaultCount, type CountTokens } from "./count-tokens.ts";
import { CODE_BOUNDARIES, declarationsAt } from "./code-blocks.ts";
import { markdownSections, type Section } from "./sections.ts";
import { type MarkdownTable, tablesOf } from "./tables.ts";

/** A piece of an item that is retrieved on its own. */
export type TextChunk = {
  readonly text: string;
  /**
   * The headings above it, outermost first, then the columns of a table that it goes on with, joined by " > ". Of code, the
   * declarations that it lies in.
   */
  readonly heading: string;
  /** UTF-8 byte offsets into the item's text. */
  readonly startByte: number;
  readonly endByte: number;
  /** The first and the last page or slide that it is from. @default its file has none */
  readonly pages?: { readonly first: number; readonly last: number };
};

/** Options of {@link splitText}. */
export interface SplitOptions {
  /** Tokens of a chunk at most, overlap included. */
  readonly size: number;
  /** Share of a chunk that repeats the end of the one before, in percent. */
  readonly overlapPercent: number;
  /** `"markdown"` also splits at headings, `"code"` before declarations. */
  readonly format: "markdown" | "text" | "code";
  /** @default countTokens */
  readonly countTokens?: CountTokens;
}

/** A stretch of the text, in UTF-16 units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

interface Measured extends Span {
  readonly tokens: number;
}

/** How a text is cut. */
interface Cut {
  readonly budget: number;
  readonly count: CountTokens;
  /** The boundaries at which to cut, from the best to the worst. */
  readonly boundaries: readonly RegExp[];
}

/** The boundaries at which to cut, from the best to the worst. */
const BOUNDARIES: readonly RegExp[] = [
  /\n[^\S\n]*\n\s*/g, // paragraphs
  /\n(?=[^\S\n]*(?:[-*+|>#]|\d+[.)]\s|```))/g, // items of lists, rows of tables
  // Sentences. A line that was only wrapped does not end one.
  /[.!?…]["'”’)\]]*\s+(?![\s\p{Ll}])|[。！？]["”’」』）]*\s*/gu,
  /[.!?…]["'”’)\]]*\s+/g, // sentences of a text without capitals
  /\n/g, // lines
  /\s+/g, // words
];

/**
 * Splits a text into chunks of at most `size` tokens: at headings (Markdown), then paragraphs, then
 * sentences, then words, then anywhere between two characters. Chunks are slices of the
 * text, trimmed; blank ones are left out.
 */
export function splitText(text: string, options: SplitOptions): TextChunk[] {
  const count = options.countTokens ?? defaultCount;
  const isCode = options.format === "code";
  // Half a function before another one is useless.
  const overlap = isCode ? 0 : Math.floor((options.size * options.overlapPercent) / 100);
  const budget = Math.max(1, options.size - overlap);
  const sections =
    options.format === "markdown"
      ? withEmptyOnes(text, markdownSections(text), budget / 2, count)
      : [{ start: 0, end: text.length, body: 0, heading: "" }];
  const out: TextChunk[] = [];
  const offsets = byteOffsets(text);
  const around = isCode
    ? declarationsAt(text)
    : columnsAt(options.format === "markdown" ? tablesOf(text) : []);
  const cut = { budget, count, boundaries: isCode ? CODE_BOUNDARIES : BOUNDARIES };
  for (const section of sections) {
    const spans = withHeading(text, section, cut, options.size);
    for (const [index, span] of spans.entries()) {
      const start =
        index === 0
          ? span.start
          : overlapStart(text, { floor: section.start, start: span.start, overlap, count });
      const trimmed = trim(text, { start, end: span.end });
      if (trimmed.start >= trimmed.end) continue;
      const startByte = offsets(trimmed.start);
      out.push({
        text: text.slice(trimmed.start, trimmed.end),
        heading: [section.heading, around(trimmed.start)].filter(Boolean).join(" > "),
        startByte,
        endByte: startByte + utf8Length(text, trimmed.start, trimmed.end),
      });
    }
  }
  return out;
}

/**
 * Joins sections that are nothing but a heading with the section behind them: on its own a heading is found before the text
 * that answers. Headings in a row of more than `most` tokens stay alone.
 */
function withEmptyOnes(
  text: string,
  sections: readonly Section[],
  most: number,
  count: CountTokens,
): Section[] {
  const out: Section[] = [];
  let start: number | null = null;
  let tokens = 0;
  for (const section of sections) {
    const from: number = start ?? section.start;
    const isEmpty =
      section.body > section.start && text.slice(section.body, section.end).trim() === "";
    tokens += isEmpty ? count(text.slice(section.start, section.end)) : 0;
    if (isEmpty && section !== sections.at(-1) && tokens <= most) {
      start = from;
      continue;
    }
    out.push({ ...section, start: from });
    start = null;
    tokens = 0;
  }
  return out;
}

/** Cuts a section. The first text below its heading is in one chunk with it, which takes the room of the overlap, too. */
function withHeading(text: string, section: Section, cut: Cut, size: number): readonly Span[] {
  const { budget } = cut;
  const spans = pack(pieces(text, section, cut, 0), budget);
  const [first, next, ...rest] = spans;
  if (first === undefined || next === undefined) return spans;
  const room = size - first.tokens;
  const isHeading = text.slice(section.body, first.end).trim() === "";
  if (!isHeading || room < budget / 2) return spans;
  const [joined, ...others] =
    next.tokens <= room ? [next] : pack(pieces(text, next, { ...cut, budget: room }, 0), room);
  const behind = joined === undefined ? [next] : others;
  return [
    { start: first.start, end: joined?.end ?? first.end },
    ...pack([...behind, ...rest], budget),
  ];
}

/** Cuts a span into pieces within the budget, at the best boundaries that are there. */
function pieces(text: string, span: Span, cut: Cut, level: number): Measured[] {
  const { budget, count, boundaries } = cut;
  const tokens = count(text.slice(span.start, span.end));
  if (tokens <= budget) return [{ start: span.start, end: span.end, tokens }];
  const boundary = boundaries[level];
  if (boundary === undefined) return cutAnywhere(text, span, budget, count);
  const out: Measured[] = [];
  // Each piece keeps the separator after it, so that the pieces cover the text without gaps.
  for (const part of partsOf(text, span, boundary)) {
    for (const piece of pieces(text, part, cut, level + 1)) out.push(piece);
  }
  // Small pieces are joined at their own level first: a paragraph is not torn to fill a chunk.
  return pack(out, budget);
}

function partsOf(text: string, span: Span, boundary: RegExp): Span[] {
  const out: Span[] = [];
  const within = text.slice(span.start, span.end);
  let start = span.start;
  for (const match of within.matchAll(boundary)) {
    const end = span.start + match.index + match[0].length;
    out.push({ start, end });
    start = end;
  }
  if (start < span.end) out.push({ start, end: span.end });
  return out;
}

function cutAnywhere(text: string, span: Span, budget: number, count: CountTokens): Measured[] {
  const out: Measured[] = [];
  for (let start = span.start; start < span.end;) {
    let end = Math.min(span.end, start + budget);
    // Never between the halves of a surrogate pair.
    if (end < span.end && isLowSurrogate(text.charCodeAt(end))) end++;
    out.push({ start, end, tokens: count(text.slice(start, end)) });
    start = end;
  }
  return pack(out, budget);
}

/** Joins neighbours as long as they fit together. */
function pack(parts: readonly Measured[], budget: number): Measured[] {
  const out: Measured[] = [];
  let current: Measured | null = null;
  for (const part of parts) {
    if (current !== null && current.tokens + part.tokens <= budget) {
      current = { start: current.start, end: part.end, tokens: current.tokens + part.tokens };
      continue;
    }
    if (current !== null) out.push(current);
    current = part;
  }
  if (current !== null) out.push(current);
  return out;
}

interface OverlapPlace {
  readonly floor: number;
  readonly start: number;
  readonly overlap: number;
  readonly count: CountTokens;
}

/**
 * Returns where the overlap before `start` begins: with a sentence or a row, at most `overlap` tokens back. If a sentence
 * had to be cut, it begins with a word.
 */
function overlapStart(text: string, { floor, start, overlap, count }: OverlapPlace): number {
  if (overlap === 0) return start;
  // Six letters are a token, so eight characters per token reach far enough back.
  const from = Math.max(floor, start - overlap * 8);
  const begins = beginnings(text, from, start);
  const isCut = begins.at(-1) !== start;
  const places = isCut
    ? [...text.slice(from, start).matchAll(/[^\s。！？、，]+/g)].map(({ index }) => from + index)
    : [...(from === floor ? [from] : []), ...begins.slice(0, -1)];
  let best = start;
  for (const place of places.toReversed()) {
    if (isCut && place === from && from > floor) break;
    if (count(text.slice(place, start)) > overlap) break;
    best = place;
  }
  return best;
}

/** Lists where sentences, rows and paragraphs begin between two places; the last one is `to` where one begins there. */
function beginnings(text: string, from: number, to: number): number[] {
  // One character more, which tells whether a sentence begins with it.
  const within = text.slice(from, to + 1);
  const found = BOUNDARIES.slice(0, 3).flatMap((boundary) =>
    [...within.matchAll(boundary)].map(({ index, 0: match }) => index + match.length),
  );
  return [...new Set(found)]
    .filter((place) => from + place <= to && !isInRow(within, place))
    .map((place) => from + place)
    .toSorted((a, b) => a - b);
}

/** Whether a place lies inside a row of a table, whose sentences must not be torn apart either. */
function isInRow(text: string, place: number): boolean {
  const line = text.lastIndexOf("\n", place - 1) + 1;
  return line < place && /^\s*\|/.test(text.slice(line, place));
}

/** Returns the columns of the table whose rows a place lies among; places come in ascending order. */
function columnsAt(tables: readonly MarkdownTable[]): (place: number) => string {
  let next = 0;
  return (place) => {
    while ((tables[next]?.end ?? Infinity) <= place) next++;
    const table = tables[next];
    return table !== undefined && place >= table.start ? table.columns : "";
  };
}

function trim(text: string, span: Span): Span {
  let { start, end } = span;
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return { start, end };
}

function isBlank(text: string, at: number): boolean {
  return /\s/.test(text.charAt(at));
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Byte offsets of ascending positions, each found from the one before. */
function byteOffsets(text: string): (position: number) => number {
  let position = 0;
  let bytes = 0;
  return (next) => {
    bytes +=
      next >= position ? utf8Length(text, position, next) : -utf8Length(text, next, position);
    position = next;
    return bytes;
  };
}

/** UTF-8 bytes of a stretch of text; a lone surrogate counts as U+FFFD does. */
function utf8Length(text: string, start: number, end: number): number {
  let bytes = 0;
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (
      unit >= 0xd800 &&
      unit <= 0xdbff &&
      i + 1 < end &&
      isLowSurrogate(text.charCodeAt(i + 1))
    ) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}
