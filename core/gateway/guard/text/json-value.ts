import { isDue, type WorkMeter, workMeter, SLICE, type Slices, STEP } from "./slices.ts";

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

/** Levels of nesting that are taken apart; no chat nests deeper. */
const DEPTH = 200;
/** Digits from which a number can identify something. */
const LONG = 13;
/** Members from which on a `Set` finds a name sooner than a look at all of them. */
const MANY = 16;

/** An array or an object that has not ended. */
interface OpenContainer {
  /** Undefined for an array. */
  readonly names: string[] | undefined;
  readonly values: JsonValue[];
  seen?: Set<string>;
  repeats?: Set<number>;
}

/** The tokens that may come next; the first one of an array or object may be missing. */
type Wanted = "value" | "first value" | "name" | "first name" | "colon" | "next";

/** A document that is read token by token. */
interface Reader {
  readonly text: string;
  readonly counted: WorkMeter;
  readonly open: OpenContainer[];
  at: number;
  wanted: Wanted;
  /** The whole value, once it has been read. */
  whole: JsonValue | undefined;
  duplicate: string | null;
}

/** The result of a step. A string or number that is too long for one step is read in several. */
type Token = "more" | "end" | "wrong" | "deep" | "long string" | "long number";

/**
 * Reads a JSON document (RFC 8259) in time in proportion to it; null for invalid JSON. Control characters within strings
 * pass, and so do `NaN` and `Infinity`: some providers' parsers take them.
 */
export function* jsonDocument(
  text: string,
  counted: WorkMeter = workMeter(),
): Slices<JsonDocument | null> {
  const start = { at: 0, wanted: "value", whole: undefined, duplicate: null } as const;
  const reader: Reader = { text, counted, open: [], ...start };
  for (;;) {
    const from = reader.at;
    let token = step(reader);
    if (token === "long string" || token === "long number") {
      const value = yield* token === "long string" ? longString(reader) : longNumber(reader);
      token = value === undefined ? "wrong" : taken(reader, value);
    } else if (isDue(counted, STEP + reader.at - from)) yield;
    if (token === "wrong") return null;
    if (token === "deep") return { value: undefined, duplicate: reader.duplicate };
    if (token === "end") return { value: reader.whole, duplicate: reader.duplicate };
  }
}

/** Reads one token, and the blanks before it. */
function step(reader: Reader): Token {
  if (!skipBlanks(reader)) return "more";
  const { text, wanted } = reader;
  const char = text[reader.at];
  if (wanted === "next") return next(reader, char);
  if (wanted === "colon") {
    reader.at++;
    reader.wanted = "value";
    return char === ":" ? "more" : "wrong";
  }
  if (char === '"') {
    const found = shortString(reader);
    return found === undefined ? "long string" : taken(reader, found);
  }
  if (char === "]" && wanted === "first value") return closed(reader);
  if (char === "}" && wanted === "first name") return closed(reader);
  if (isName(wanted)) return "wrong";
  return char === "{" || char === "[" ? opened(reader, char) : word(reader);
}

function isName(wanted: Wanted): boolean {
  return wanted === "name" || wanted === "first name";
}

function opened(reader: Reader, char: "{" | "["): Token {
  const { open } = reader;
  reader.at++;
  open.push({ names: char === "{" ? [] : undefined, values: [] });
  reader.wanted = char === "{" ? "first name" : "first value";
  return open.length > DEPTH ? "deep" : "more";
}

/** Reads the token behind a value: another value, the end of its container, or the end of the document. */
function next(reader: Reader, char: string | undefined): Token {
  const inner = reader.open.at(-1);
  if (inner === undefined) return char === undefined ? "end" : "wrong";
  if (char === ",") {
    reader.at++;
    reader.wanted = inner.names === undefined ? "value" : "name";
    return "more";
  }
  return char === (inner.names === undefined ? "]" : "}") ? closed(reader) : "wrong";
}

/** Ends the innermost array or object. */
function closed(reader: Reader): Token {
  reader.at++;
  const inner = reader.open.pop();
  if (inner === undefined) return "wrong";
  const { names, values, repeats } = inner;
  reader.wanted = "next";
  if (names === undefined) return taken(reader, values);
  return taken(reader, repeats === undefined ? { names, values } : { names, values, repeats });
}

/** Puts a value, or the name of a member, where it belongs. */
function taken(reader: Reader, value: JsonValue): Token {
  const { open, wanted } = reader;
  const inner = open.at(-1);
  if (isName(wanted) && typeof value === "string") {
    if (inner !== undefined && begin(value, inner)) reader.duplicate ??= pathOf(open, value);
    reader.wanted = "colon";
    return "more";
  }
  if (inner === undefined) reader.whole = value;
  else inner.values.push(value);
  reader.wanted = "next";
  return "more";
}

/** Begins a member; returns whether one of its name was there before. */
function begin(name: string, object: OpenContainer): boolean {
  const { names = [] } = object;
  const isAgain = isKnown(object, name);
  if (isAgain) (object.repeats ??= new Set()).add(names.length);
  names.push(name);
  return isAgain;
}

function isKnown(open: OpenContainer, name: string): boolean {
  const names = open.names ?? [];
  if (names.length < MANY) return names.includes(name);
  open.seen ??= new Set(names);
  const { size } = open.seen;
  return open.seen.add(name).size === size;
}

/** Characters of a path in a message. */
const PATH = 200;

function pathOf(open: readonly OpenContainer[], name: string): string {
  const steps = open.slice(0, -1).map(({ names, values }) => {
    return names === undefined ? `[${values.length}]` : `.${names.at(-1)?.slice(0, 64)}`;
  });
  return `${steps.join("")}.${name.slice(0, 64)}`.replace(/^\./, "").slice(-PATH);
}

/** Skips blanks, as many as one step may; returns whether something else follows. */
function skipBlanks(reader: Reader): boolean {
  const { text } = reader;
  for (const end = reader.at + SHORT; reader.at < end; reader.at++) {
    const code = text.charCodeAt(reader.at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return true;
  }
  return false;
}

/** Characters of a token, or of blanks, that are read in one step. */
const SHORT = 4096;

const words = /-?(?:\d[\d.eE+-]{0,1024}|Infinity)|true|false|null|NaN/y;
const digits = /[\d.eE+-]{0,65536}/y;

function word(reader: Reader): Token {
  words.lastIndex = reader.at;
  const raw = words.exec(reader.text)?.[0];
  if (raw === undefined) return "wrong";
  if (!/\d/.test(raw)) {
    reader.at += raw.length;
    return taken(reader, null);
  }
  if (raw.length > 1024) return "long number";
  reader.at += raw.length;
  const number = Number(raw);
  if (Number.isNaN(number)) return "wrong";
  if (Math.abs(number) < 10 ** (LONG - 1)) return taken(reader, number);
  return taken(reader, { digits: /^-?\d+$/.test(raw) ? raw : String(number) });
}

function* longNumber(reader: Reader): Slices<LongNumber> {
  const { text, counted, at: start } = reader;
  for (;;) {
    digits.lastIndex = reader.at;
    digits.test(text);
    const read = digits.lastIndex - reader.at;
    if (read === 0) return { digits: text.slice(start, reader.at) };
    reader.at += read;
    if (isDue(counted, read)) yield;
  }
}

/** Reads the string at the reader; undefined when it is too long for one step, or malformed. */
function shortString(reader: Reader): string | undefined {
  const { text } = reader;
  const start = reader.at + 1;
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, end, start)) {
    if (end - start > SHORT) return undefined;
    end = text.indexOf('"', end + 1);
  }
  if (end === -1) return undefined;
  const raw = text.slice(start, end);
  const isPlain = !raw.includes("\\");
  if (!isPlain && raw.length > SHORT) return undefined;
  const found = isPlain ? raw : unescaped(raw);
  if (found !== undefined) reader.at = end + 1;
  return found;
}

/** Whether an odd number of backslashes stands before a quote; true as well when there are too many to count at once. */
function isEscaped(text: string, quote: number, start: number): boolean {
  let at = quote;
  while (at > start && text[at - 1] === "\\") if (quote - --at > SHORT) return true;
  return (quote - at) % 2 === 1;
}

const unbroken = /[^"\\]{0,65536}/y;

/**
 * Returns the string that begins at the reader; undefined for one that does not end, or has an escape that there is not.
 */
function* longString(reader: Reader): Slices<string | undefined> {
  const { text, counted } = reader;
  const pieces: string[] = [];
  let from = reader.at + 1;
  for (let at = from; ;) {
    unbroken.lastIndex = at;
    unbroken.test(text);
    const work = STEP + unbroken.lastIndex - at;
    at = unbroken.lastIndex;
    const char = text[at];
    if (char === undefined) return undefined;
    // No piece ends within an escape, the longest of which is `\u0000`.
    if (char === "\\") at += text[at + 1] === "u" ? 6 : 2;
    if (char === '"' || at - from > SLICE) {
      const piece = unescaped(text.slice(from, at));
      if (piece === undefined) return undefined;
      pieces.push(piece);
      from = at;
    }
    if (char === '"') {
      reader.at = at + 1;
      return pieces.join("");
    }
    if (isDue(counted, work)) yield;
  }
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
