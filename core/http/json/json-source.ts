import { isObject } from "../json.ts";
import {
  jsonReader,
  type JsonReader,
  type JsonToken,
  nextToken,
  skipContainer,
} from "./json-reader.ts";

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
  let found = path.length === 0 ? valueAt(text, 0) : undefined;
  let at = 0;
  for (const name of path) {
    found = partsNamed(text, name, at).at(-1);
    if (found === undefined) return undefined;
    at = found.start;
  }
  return found === undefined ? undefined : text.slice(found.start, found.end);
}

/**
 * The members with a name, however it is escaped, of the object that begins at `at`, in their order; the element with an
 * index of an array.
 */
export function partsNamed(text: string, name: string, at: number = 0): JsonPart[] {
  const found: JsonPart[] = [];
  let index = 0;
  eachPart(text, at, (part) => {
    if (isNamed(text, part, name, index++)) found.push(part);
  });
  return found;
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

/** The value of a JSON text in which integers that parsing would round are texts. Throws `SyntaxError`. */
export function exactJson(text: string): unknown {
  return JSON.parse(/\d{16}/.test(text) ? withQuotedIntegers(text) : text);
}

function withQuotedIntegers(text: string): string {
  const reader = jsonReader(text);
  const pieces: string[] = [];
  let copied = 0;
  for (
    let token = nextToken(reader);
    token !== "end" && token !== "wrong";
    token = nextToken(reader)
  ) {
    const { at, start } = reader;
    if (token !== "number" || at - start < 16 || isExact(Number(text.slice(start, at)))) continue;
    pieces.push(text.slice(copied, start), `"${text.slice(start, at)}"`);
    copied = at;
  }
  return pieces.join("") + text.slice(copied);
}

/** The texts of the elements of a JSON array. */
export function jsonElements(text: string): string[] {
  const found: string[] = [];
  eachPart(text, 0, ({ start, end }) => found.push(text.slice(start, end)));
  return found;
}

/**
 * The JSON text of a value that was parsed and then changed: unchanged parts keep their text, byte for byte, even where
 * parsing loses something. `before` is the value of `text`.
 */
export function changedJson(text: string, before: unknown, after: unknown): string {
  const { start, end } = valueAt(text, 0) ?? { start: 0, end: text.length };
  return changed(text, { start, end, before, after });
}

interface ChangedValue {
  readonly start: number;
  readonly end: number;
  readonly before: unknown;
  readonly after: unknown;
}

function changed(text: string, { start, end, before, after }: ChangedValue): string {
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
    const value = changed(text, { start, end, before: before[name], after: after[name] });
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
      : changed(text, { start: part.start, end: part.end, before: before[place], after: value });
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

/** Calls `visit` for the parts of the object or array that begins at `at`; never for another value. */
function eachPart(text: string, at: number, visit: (part: JsonPart) => void): void {
  const reader = jsonReader(text, at);
  let token = nextToken(reader);
  if (token !== "{" && token !== "[") return;
  for (;;) {
    token = nextToken(reader);
    const { start: nameStart, at: behind } = reader;
    const isKeyed = token === "name";
    if (isKeyed) token = nextToken(reader);
    const { start } = reader;
    if (!isValue(reader, token)) return;
    visit({ nameStart, nameEnd: isKeyed ? behind : nameStart, start, end: reader.at });
  }
}

/** Whether a token is a value, behind whose end the reader then is. */
function isValue(reader: JsonReader, token: JsonToken): boolean {
  if (token === "{" || token === "[") return skipContainer(reader);
  return token === "string" || token === "number" || token === "word";
}

/** The value at or behind `at`; undefined where there is none. */
function valueAt(text: string, at: number): Pick<JsonPart, "start" | "end"> | undefined {
  const reader = jsonReader(text, at);
  const token = nextToken(reader);
  const { start } = reader;
  return isValue(reader, token) ? { start, end: reader.at } : undefined;
}
