import { type Checker, type CheckResult, clean, type Finding } from "./checker.ts";
import { decodedTokens, unescapedForm } from "./decoded-form.ts";
import { cutAfter, plainForm, REACH } from "./plain-form.ts";
import { atOnce, inSlices, SLICE, type Slices } from "../text/slices.ts";

export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

export function spansOf(text: string, forms: readonly RegExp[]): TextSpan[] {
  const found: TextSpan[] = [];
  for (const form of forms) {
    // Most texts have none: that costs no iterator.
    if (text.search(form) === -1) continue;
    for (const { 0: one, index } of text.matchAll(form))
      found.push({ start: index, end: index + one.length });
  }
  return found;
}

/** Something that is recognised by its form. Takes time in proportion to the text, whatever is in it. */
export interface Pattern {
  readonly type: string;
  /** Lists where it occurs in a text of plain form. */
  find(text: string): readonly TextSpan[];
  /** Returns all of what a place belongs to; null for what has parts elsewhere. @default it is the whole */
  whole?(text: string, span: TextSpan): TextSpan | null;
  /** Matches the start of a line that cannot continue the one before. @default any line can */
  readonly begins?: RegExp;
}

/** Makes a checker that reports what has one of these forms. */
export function patternChecker(patterns: readonly Pattern[]): Checker {
  return {
    check(text, _phase, _signal, pause) {
      if (pause === undefined)
        return resultOf(patterns, atOnce(countIn(text, patterns, text.length)));
      const work = countIn(text, patterns, WINDOW);
      return text.length <= WINDOW
        ? resultOf(patterns, atOnce(work))
        : inSlices(work, pause).then((counts) => resultOf(patterns, counts));
    },
  };
}

/** Characters that are looked at in one go: a dozen expressions run over them. */
const WINDOW: number = SLICE / 2;
/** Characters that windows share, so that nothing hides on the border of two: what has blanks in it is shorter. */
const SHARED = 256;

function resultOf(patterns: readonly Pattern[], counts: readonly number[]): CheckResult {
  const findings = patterns
    .map(({ type }, index): Finding => ({ type, count: counts[index] ?? 0 }))
    .filter(({ count }) => count > 0);
  return findings.length === 0 ? clean : { action: "flag", findings };
}

function* countIn(text: string, patterns: readonly Pattern[], window: number): Slices<number[]> {
  const counts = patterns.map(() => 0);
  let shared: readonly number[] = counts.map(() => 0);
  for (let at = 0; ;) {
    const end = cutAfter(text, at + window);
    const found = yield* countsOf(text.slice(at, end), patterns);
    // Matches that lie in both windows count once. A form that only their shared part has takes none away.
    for (const [index, count] of found.entries())
      counts[index] = (counts[index] ?? 0) + Math.max(0, count - (shared[index] ?? 0));
    if (end >= text.length) return counts;
    const isBetweenWords = /\s/.test(text.charAt(end - 1));
    at = isBetweenWords ? cutAfter(text, end - SHARED, SHARED) : end - REACH;
    shared = yield* countsOf(text.slice(at, end), patterns);
  }
}

function* countsOf(text: string, patterns: readonly Pattern[]): Slices<number[]> {
  const readings = readingsOf(plainForm(text));
  if (readings.unescaped !== readings.plain || readings.decoded !== "") yield;
  const counts: number[] = [];
  for (const pattern of patterns) {
    counts.push(yield* occurrencesIn(readings, pattern));
    yield;
  }
  return counts;
}

interface Readings {
  readonly plain: string;
  /** The same text without escapes of URLs and HTML. */
  readonly unescaped: string;
  /** What stands in it as base64. */
  readonly decoded: string;
}

function readingsOf(plain: string): Readings {
  return { plain, unescaped: unescapedForm(plain), decoded: decodedTokens(plain) };
}

/** An escape can stand within what is looked for, or be a part of it as it is: of the two readings one counts. */
function* occurrencesIn({ plain, unescaped, decoded }: Readings, pattern: Pattern): Slices<number> {
  let count = occurrences(plain, pattern);
  if (unescaped !== plain) {
    yield;
    count = Math.max(count, occurrences(unescaped, pattern));
  }
  if (decoded === "") return count;
  yield;
  return count + occurrences(decoded, pattern);
}

/** A line break can stand between two words, or in the middle of one: the text is read both ways. */
function occurrences(plain: string, pattern: Pattern): number {
  const count = pattern.find(plain).length;
  return plain.includes("\n")
    ? Math.max(count, pattern.find(withoutBreaks(plain, pattern)).length)
    : count;
}

function withoutBreaks(plain: string, { begins }: Pattern): string {
  if (begins === undefined) return plain.replaceAll("\n", "");
  return plain
    .split("\n")
    .map((line) => (begins.test(line) ? ` ${line}` : line))
    .join("");
}
