import type { Pattern, TextSpan } from "./pattern.ts";

/** Digits; which of them belong together is found out one by one: one expression for all would outgrow its stack. */
const group = /\d+/g;
/** Separators between two groups; a full stop between groups of four only, or it begins a fraction. */
const separator = /^(?:[ -]{1,3}|[ -]?\n{1,4}[ -]?)$/;

/** How card numbers are written: in one piece, by fours (of which some may stand together), or as American Express and Diners do. */
const shape =
  /^(?:\d{13,19}|(?=(?:\d ?){16,19}$)(?:\d{4} ?){4}(?:(?<= )\d{1,3})?|\d{4} \d{6} \d{4,5})$/;

/** First digits that are given out to card networks: Visa, Mastercard, Amex, Diners, Discover, JCB, UnionPay, Maestro. */
const network = /^(?:4|5[0-8]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|3[0-9]|6)/;

/** Groups of a run that one number can have. */
const GROUPS = 5;
/** Groups of a run from which on its lines are a column of a table: then no number goes over from one to the next. */
const COLUMN = 9;
/** Digits of a number. */
const [SHORTEST, LONGEST] = [13, 19];

/** Payment card numbers: right in shape, network and check digit (ISO/IEC 7812-1, Luhn). */
export const creditCard: Pattern = {
  type: "credit_card",
  find(text) {
    const found: TextSpan[] = [];
    let run: DigitRun = { groups: [], breaks: [] };
    let end = 0;
    const close = (): void => {
      for (const span of spansInLines(run)) found.push(span);
      run = { groups: [], breaks: [] };
    };
    for (const { 0: digits, index } of text.matchAll(group)) {
      const { groups, breaks } = run;
      const between = text.slice(Math.max(end, index - 5), index);
      const last = groups.at(-1)?.digits;
      if (last === undefined || !(separator.test(between) || isStop(between, last, digits)))
        close();
      else if (between.includes("\n")) breaks.push(groups.length);
      end = index + digits.length;
      if (isWord(text, index, end) || (run.groups.length === 0 && isFraction(text, index))) close();
      else run.groups.push({ digits, start: index });
    }
    close();
    return found.concat(cutNumbers(text));
  },
};

/** Marks that cut a number up: of dates, names, lists, tables and emphasis. */
const mark = "(?: ?[*_|/,]{1,3}(?: [*_|]{1,3})? ?)";
const gap = `(?:${mark}| )`;
/**
 * Numbers that marks or single blanks cut up. Of a longer row of figures nothing counts: a table is full of numbers that
 * would pass by chance.
 */
const cut = new RegExp(
  `(?<![A-Za-z\\d])(?<!\\d${mark})(?:\\d{4}(?:${gap}\\d{4}){3}|\\d{4}${gap}\\d{6}${gap}\\d{5}|(?<!\\d )\\d(?: \\d){14,15})(?![A-Za-z\\d])(?!${gap}\\d)`,
  "g",
);
const byMarks = /[*_|/,]|^\d \d /;

function cutNumbers(text: string): TextSpan[] {
  const found: TextSpan[] = [];
  for (const { 0: number, index } of text.matchAll(cut))
    if (byMarks.test(number) && isCard(number.replaceAll(/\D/g, "")))
      found.push({ start: index, end: index + number.length });
  return found;
}

/** Digits in a row, and their place. */
interface DigitGroup {
  readonly digits: string;
  readonly start: number;
}

/** Groups of digits with nothing but separators between them. */
interface DigitRun {
  readonly groups: DigitGroup[];
  /** Which groups begin a line. */
  readonly breaks: number[];
}

function spansInLines({ groups, breaks }: DigitRun): TextSpan[] {
  if (breaks.length === 0 || groups.length < COLUMN) return spansInRun(groups);
  const starts = [0, ...breaks];
  return starts.flatMap((at, line) => spansInRun(groups.slice(at, starts[line + 1])));
}

function isStop(between: string, before: string, behind: string): boolean {
  return between === "." && before.length === 4 && behind.length === 4;
}

/** Whether letters stand right before or behind. */
function isWord(text: string, start: number, end: number): boolean {
  return isLetter(text.charCodeAt(start - 1)) || isLetter(text.charCodeAt(end));
}

/** Whether a character is an ASCII letter: other scripts write numbers without a blank. */
function isLetter(code: number): boolean {
  const lower = code | 32;
  return lower >= 97 && lower <= 122;
}

function isFraction(text: string, start: number): boolean {
  return text[start - 1] === "." && /\d/.test(text.charAt(start - 2));
}

/** Another number may stand right before or behind: every sequence of groups is looked at. */
function spansInRun(groups: readonly DigitGroup[]): TextSpan[] {
  const found: TextSpan[] = [];
  for (let start = 0; start < groups.length; start++) {
    const first = groups[start]?.digits.length ?? 0;
    if (first % 4 !== 0 && first < SHORTEST) continue;
    let length = 0;
    for (let end = start + 1; end <= Math.min(start + GROUPS, groups.length); end++) {
      length += groups[end - 1]?.digits.length ?? 0;
      if (length > LONGEST) break;
      if (length < SHORTEST) continue;
      const number = groups.slice(start, end);
      const digits = number.map((one) => one.digits);
      if (!shape.test(digits.join(" ")) || !isCard(digits.join(""))) continue;
      found.push(spanOf(number));
      start = end - 1;
      break;
    }
  }
  return found;
}

function spanOf(number: readonly DigitGroup[]): TextSpan {
  const last = number.at(-1) ?? { digits: "", start: 0 };
  return { start: number[0]?.start ?? 0, end: last.start + last.digits.length };
}

function isCard(digits: string): boolean {
  return network.test(digits) && hasCheckDigit(digits);
}

/** Whether the Luhn check passes; a row of one repeated digit is a placeholder. */
function hasCheckDigit(digits: string): boolean {
  if (/^(\d)\1+$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
