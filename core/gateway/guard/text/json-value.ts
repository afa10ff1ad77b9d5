import { SLICE, type Slices } from "./slices.ts";

/** A JSON value as a provider may read it: every member is kept, also one whose name has been there before. */
export type JsonValue = string | number | null | LongNumber | JsonObject | readonly JsonValue[];

/** A number of so many digits that one can identify something, as it was written. */
export interface LongNumber {
  readonly digits: string;
}

/** Names and values of an object's members, in their order. */
export interface JsonObject {
  readonly names: readonly string[];
  readonly values: readonly JsonValue[];
  /** Which members have a name that was there before. @default none */
  readonly repeats?: ReadonlySet<number> | undefined;
}

/** A JSON document. */
export interface JsonDocument {
  /** Undefined: nested too deeply to be taken apart. */
  readonly value: JsonValue | undefined;
  /** The path of the first member whose name its object had before; parsers differ in which of the two they keep. */
  readonly duplicate: string | null;
}

/** Levels of nesting that are taken apart; deeper JSON is no chat. */
const DEPTH = 200;
/** Digits from which a number can identify something. */
const LONG = 13;
/** Members from which on a `Set` finds a name sooner than a look at all of them. */
const MANY = 16;

interface Cursor {
  readonly text: string;
  at: number;
  /** The string before the cursor, as it is written. */
  pending?: string;
}

/** An array or an object that has not ended. */
interface Open {
  /** Undefined for an array. */
  readonly names: string[] | undefined;
  readonly values: JsonValue[];
  seen?: Set<string>;
  repeats?: Set<number>;
}

/**
 * Reads a JSON document (RFC 8259) in time in proportion to it; null for what is none. Control characters within strings
 * pass, and so do `NaN` and `Infinity`: some providers' parsers take them.
 */
export function* jsonDocument(text: string): Slices<JsonDocument | null> {
  const cursor: Cursor = { text, at: 0 };
  const open: Open[] = [];
  let duplicate: string | null = null;
  let rested = 0;
  for (;;) {
    if (cursor.at - rested > SLICE) {
      rested = cursor.at;
      yield;
    }
    skipBlanks(cursor);
    let value = opened(cursor, open) ?? scalar(cursor);
    if (value === PIECES) value = yield* inPieces(cursor);
    if (value === undefined) return null;
    if (value !== NESTED) value = placed(value, cursor, open);
    if (value === undefined) return null;
    if (value !== NESTED) return { value, duplicate };
    if (open.length > DEPTH) return { value: undefined, duplicate };
    const inner = open.at(-1);
    if (inner?.names === undefined) continue;
    const name = memberName(cursor);
    if (name === undefined) return null;
    if (begin(name, inner)) duplicate ??= pathOf(open, name);
  }
}

/** Begins a member; returns whether one of its name was there before. */
function begin(name: string, object: Open): boolean {
  const { names = [] } = object;
  const isAgain = isKnown(object, name);
  if (isAgain) (object.repeats ??= new Set()).add(names.length);
  names.push(name);
  return isAgain;
}

/** Stands for a value that goes on behind the cursor. */
const NESTED: unique symbol = Symbol("nested");
/** Stands for a string before the cursor that is too long to be unescaped at once. */
const PIECES: unique symbol = Symbol("pieces");

/** Opens what begins at the cursor; an empty array or object is a value at once. Undefined for what is neither. */
function opened(cursor: Cursor, open: Open[]): JsonValue | typeof NESTED | undefined {
  const char = cursor.text[cursor.at];
  if (char !== "{" && char !== "[") return undefined;
  cursor.at++;
  skipBlanks(cursor);
  const made: Open = { names: char === "{" ? [] : undefined, values: [] };
  if (cursor.text[cursor.at] !== (char === "{" ? "}" : "]")) {
    open.push(made);
    return NESTED;
  }
  cursor.at++;
  return finished(made);
}

function finished({ names, values, repeats }: Open): JsonValue {
  if (names === undefined) return values;
  return repeats === undefined ? { names, values } : { names, values, repeats };
}

/**
 * Puts a value into what is open, and closes whatever ends behind it. The whole document when all is closed, else
 * {@link NESTED}: then another value or member follows. Undefined for what is no JSON.
 */
function placed(
  first: JsonValue,
  cursor: Cursor,
  open: Open[],
): JsonValue | typeof NESTED | undefined {
  const { text } = cursor;
  for (let value = first; ;) {
    skipBlanks(cursor);
    const inner = open.at(-1);
    if (inner === undefined) return cursor.at === text.length ? value : undefined;
    inner.values.push(value);
    const char = text[cursor.at++];
    if (char === ",") {
      skipBlanks(cursor);
      return NESTED;
    }
    if (char !== (inner.names === undefined ? "]" : "}")) return undefined;
    open.pop();
    value = finished(inner);
  }
}

/** The name of a member, up to its colon. */
function memberName(cursor: Cursor): string | undefined {
  if (cursor.text[cursor.at] !== '"') return undefined;
  const name = stringAt(cursor);
  skipBlanks(cursor);
  return typeof name === "string" && cursor.text[cursor.at++] === ":" ? name : undefined;
}

function isKnown(open: Open, name: string): boolean {
  const names = open.names ?? [];
  if (names.length < MANY) return names.includes(name);
  open.seen ??= new Set(names);
  const { size } = open.seen;
  return open.seen.add(name).size === size;
}

/** Characters of a path in a message. */
const PATH = 200;

function pathOf(open: readonly Open[], name: string): string {
  const steps = open.slice(0, -1).map(({ names, values }) => {
    return names === undefined ? `[${values.length}]` : `.${names.at(-1)?.slice(0, 64)}`;
  });
  return `${steps.join("")}.${name.slice(0, 64)}`.replace(/^\./, "").slice(-PATH);
}

function skipBlanks(cursor: Cursor): void {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
    cursor.at++;
  }
}

const word = /-?(?:\d[\d.eE+-]*|Infinity)|true|false|null|NaN/y;

function scalar(cursor: Cursor): JsonValue | typeof PIECES | undefined {
  if (cursor.text[cursor.at] === '"') return stringAt(cursor);
  word.lastIndex = cursor.at;
  const raw = word.exec(cursor.text)?.[0];
  if (raw === undefined) return undefined;
  cursor.at += raw.length;
  if (!/\d/.test(raw)) return null;
  const number = Number(raw);
  if (Number.isNaN(number)) return undefined;
  if (Math.abs(number) < 10 ** (LONG - 1)) return number;
  return { digits: /^-?\d+$/.test(raw) ? raw : String(number) };
}

/** The string that begins at the cursor; undefined for one that does not end, or has an escape that there is not. */
function stringAt(cursor: Cursor): string | typeof PIECES | undefined {
  const { text } = cursor;
  const start = cursor.at + 1;
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, end, start)) end = text.indexOf('"', end + 1);
  if (end === -1) return undefined;
  const raw = text.slice(start, end);
  cursor.at = end + 1;
  if (!raw.includes("\\")) return raw;
  if (raw.length <= SLICE) return unescaped(raw);
  cursor.pending = raw;
  return PIECES;
}

function* inPieces({ pending: raw = "" }: Cursor): Slices<string | undefined> {
  const pieces: string[] = [];
  for (let at = 0; at < raw.length;) {
    const next = cutBefore(raw, at);
    const piece = unescaped(raw.slice(at, next));
    if (piece === undefined) return undefined;
    pieces.push(piece);
    at = next;
    yield;
  }
  return pieces.join("");
}

/** Whether an odd number of backslashes stands before a quote. */
function isEscaped(text: string, quote: number, start: number): boolean {
  let at = quote;
  while (at > start && text[at - 1] === "\\") at--;
  return (quote - at) % 2 === 1;
}

/** The longest escape: `\u0000`. */
const ESCAPE = 6;

/** Where a piece from `at` on may end: not within an escape. */
function cutBefore(text: string, at: number): number {
  const wanted = at + SLICE;
  if (wanted >= text.length) return text.length;
  const last = text.lastIndexOf("\\", wanted - 1);
  if (last < at || last <= wanted - ESCAPE) return wanted;
  let first = last;
  while (first > at && text[first - 1] === "\\") first--;
  // Where the run of backslashes begins, an escape does; one that fills the piece is cut between two of them.
  return first > at ? first : at + ((last - at + 1) & ~1);
}

const escapes = /\\(?:u([\dA-Fa-f]{4})|(["\\/bfnrt])|)/g;
const short: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function unescaped(piece: string): string | undefined {
  if (!piece.includes("\\")) return piece;
  try {
    return JSON.parse(`"${piece}"`) as string;
  } catch {
    // Control characters, or no escape of JSON.
  }
  let isWrong = false;
  const text = piece.replaceAll(escapes, (_, code?: string, char?: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    isWrong ||= char === undefined;
    return short[char ?? ""] ?? char ?? "";
  });
  return isWrong ? undefined : text;
}
