import { endOfText, isObject } from "../json.ts";

/** A member of an object or an element of an array, by the places of its parts in the text. */
export interface JsonPart {
  /** The quotes of its name; both are the start of the value for an element. */
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The source text of the value at a path of names within a JSON text; undefined for a missing path. Parsing changes a
 * number of many digits (`12345678901234567890`), so identifiers are read here. Of several members with one name the
 * last counts, as in `JSON.parse`. The text has to be well-formed, otherwise the result may be any part of it.
 */
export function jsonSource(text: string, path: readonly string[]): string | undefined {
  let start = afterBlanks(text, 0);
  let end = endOfValue(text, start);
  for (const name of path) {
    let found: JsonPart | undefined;
    let index = 0;
    eachPart(text, start, (part) => {
      if (isNamed(text, part, name, index++)) found = part;
    });
    if (found === undefined) return undefined;
    ({ start, end } = found);
  }
  return text.slice(start, end);
}

/**
 * A number of a JSON object's member, or its text if parsing lost digits: two identifiers of many digits must not
 * become one.
 */
export function exactScalar(text: string, name: string, value: number): number | string {
  return isExact(value) ? value : (jsonSource(text, [name]) ?? value);
}

/** Whether a number is what its JSON says: integers of more than 15 digits may be rounded, and too large ones are infinite. */
export function isExact(value: number): boolean {
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value));
}

/** The texts of the elements of a JSON array. */
export function jsonElements(text: string): string[] {
  const found: string[] = [];
  eachPart(text, afterBlanks(text, 0), ({ start, end }) => found.push(text.slice(start, end)));
  return found;
}

/**
 * The JSON text of a value that was parsed and then changed: unchanged parts keep their text, byte for byte, even where
 * parsing loses something. `before` is the value of `text`.
 */
export function changedJson(text: string, before: unknown, after: unknown): string {
  const start = afterBlanks(text, 0);
  return changed(text, start, endOfValue(text, start), before, after);
}

function changed(
  text: string,
  start: number,
  end: number,
  before: unknown,
  after: unknown,
): string {
  if (Object.is(before, after)) return text.slice(start, end);
  if (isObject(before) && isObject(after)) return changedObject(text, start, before, after);
  return Array.isArray(before) && Array.isArray(after)
    ? changedArray(text, start, before, after)
    : (JSON.stringify(after) ?? "null");
}

function changedObject(
  text: string,
  at: number,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string {
  const parts = new Map<string, JsonPart>();
  eachPart(text, at, (part) => parts.set(nameOfPart(text, part), part));
  const members: string[] = [];
  for (const [name, { nameStart, nameEnd, start, end }] of parts) {
    if (!Object.hasOwn(after, name) || after[name] === undefined) continue;
    const value = changed(text, start, end, before[name], after[name]);
    members.push(`${text.slice(nameStart, nameEnd)}:${value}`);
  }
  for (const [name, value] of Object.entries(after)) {
    if (value !== undefined && !parts.has(name))
      members.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return `{${members.join(",")}}`;
}

/** Elements that have moved are found again where they are objects: two numbers may be equal and have different texts. */
function changedArray(
  text: string,
  at: number,
  before: readonly unknown[],
  after: readonly unknown[],
): string {
  const parts: JsonPart[] = [];
  eachPart(text, at, (part) => parts.push(part));
  const places = new Map(before.map((value, index) => [value, index]));
  const elements = after.map((value, index) => {
    const moved = typeof value === "object" && value !== null ? places.get(value) : undefined;
    const place = moved ?? index;
    const part = parts[place];
    return part === undefined
      ? (JSON.stringify(value) ?? "null")
      : changed(text, part.start, part.end, before[place], value);
  });
  return `[${elements.join(",")}]`;
}

function isNamed(text: string, part: JsonPart, name: string, index: number): boolean {
  const { nameStart, nameEnd } = part;
  if (nameStart === nameEnd) return name === String(index);
  // Compares the text as it is, unless it has escapes.
  if (nameEnd - nameStart === name.length + 2 && text.startsWith(name, nameStart + 1)) return true;
  return text.slice(nameStart, nameEnd).includes("\\") && nameOfPart(text, part) === name;
}

function nameOfPart(text: string, { nameStart, nameEnd }: JsonPart): string {
  return String(JSON.parse(text.slice(nameStart, nameEnd)));
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;

/** Calls `visit` for the parts of the object or array that begins at `at`; never for another value. */
function eachPart(text: string, at: number, visit: (part: JsonPart) => void): void {
  const isKeyed = text[at] === "{";
  if (!isKeyed && text[at] !== "[") return;
  for (let next = afterBlanks(text, at + 1); next < text.length;) {
    if (isClosing(text.charCodeAt(next))) return;
    const nameStart = next;
    let nameEnd = next;
    if (isKeyed) {
      nameEnd = endOfValue(text, nameStart);
      next = afterBlanks(text, nameEnd);
      if (text.charCodeAt(next) !== COLON) return;
      next = afterBlanks(text, next + 1);
    }
    const end = endOfValue(text, next);
    visit({ nameStart, nameEnd, start: next, end });
    next = afterBlanks(text, end);
    if (text.charCodeAt(next) !== COMMA) return;
    next = afterBlanks(text, next + 1);
  }
}

/** The place behind the value that begins at `start`. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return Math.min(text.length, endOfText(text, start) + 1);
  // { and [ differ in one bit.
  if ((first | 32) === 123) return endOfContainer(text, start);
  let at = start;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || isBlank(code) || isClosing(code)) break;
  }
  return at;
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if ((code | 32) === 123) depth++;
    else if (isClosing(code) && --depth === 0) return at + 1;
  }
  return text.length;
}

function isClosing(code: number): boolean {
  return (code | 32) === 125;
}

function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

function afterBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at++;
  return at;
}
