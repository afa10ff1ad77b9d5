import { backslashesBefore, endOfText } from "../json.ts";

/**
 * A token of a JSON text (RFC 8259): a bracket, the `name` of a member, a value without parts, the `end` of the text, or
 * `wrong`. `more`: the reader has stopped on its way through a long token, or through blanks.
 */
export type JsonToken =
  | "{"
  | "}"
  | "["
  | "]"
  | "name"
  | "string"
  | "number"
  | "word"
  | "end"
  | "wrong"
  | "more";

/** The tokens that may come next; the first one of an array or object may be missing. */
type Wanted = "value" | "first value" | "name" | "first name" | "colon" | "next";

/** A place in a JSON text, which {@link nextToken} moves on. */
export interface JsonReader {
  readonly text: string;
  /** Work after which the reader stops within a token. */
  readonly slice: number;
  /** The arrays (false) and objects (true) that have not ended, the innermost last. */
  readonly open: boolean[];
  /** The first character of the token; of one that came in pieces, that of its last piece. */
  start: number;
  /** The place behind the token or its piece. No piece ends within an escape. */
  at: number;
  /** The kind of the token that has begun and not ended. */
  within: "string" | "number" | null;
  wanted: Wanted;
  /** Work done so far, in characters that are read: the caller sets it back. */
  work: number;
}

export interface JsonReading {
  /** Whether it begins with a member of an object, not with a value. @default false */
  readonly inObject?: boolean;
  /** Work after which the reader stops within a token, in characters. @default Infinity: it never does */
  readonly slice?: number;
}

/** Begins to read a JSON text at a place. */
export function jsonReader(
  text: string,
  at: number = 0,
  { inObject = false, slice = Number.POSITIVE_INFINITY }: JsonReading = {},
): JsonReader {
  const wanted = inObject ? "name" : "value";
  return {
    text,
    slice,
    open: inObject ? [true] : [],
    start: at,
    at,
    within: null,
    wanted,
    work: 0,
  };
}

/** The weight of a token or an escape beside its characters. */
const STEP = 16;

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const COLON = 58;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const U = 117;
const OPEN = 123;
const CLOSE = 125;

/**
 * Reads the next token, in time in proportion to it. Control characters within strings pass, and so do `NaN` and
 * `Infinity`: some providers' parsers take them. The caller decodes the escapes of a string.
 */
export function nextToken(reader: JsonReader): JsonToken {
  const from = reader.at;
  const token = tokenAt(reader);
  reader.work += STEP + reader.at - from;
  return token;
}

function tokenAt(reader: JsonReader): JsonToken {
  const { text, open, within } = reader;
  reader.start = reader.at;
  if (within !== null) return within === "string" ? restOfString(reader) : restOfNumber(reader);
  for (;;) {
    if (!skipBlanks(reader)) return "more";
    const code = text.charCodeAt(reader.at);
    const { wanted } = reader;
    if (wanted === "colon" && code === COLON) reader.wanted = "value";
    else if (wanted === "next" && code === COMMA && open.length > 0)
      reader.wanted = open.at(-1) === true ? "name" : "value";
    else {
      reader.start = reader.at;
      return wanted === "next" && open.length === 0
        ? endOrWrong(reader)
        : beginning(reader, wanted, code);
    }
    reader.at++;
  }
}

function endOrWrong({ at, text }: JsonReader): JsonToken {
  return at === text.length ? "end" : "wrong";
}

/** Reads the token that begins with a character. */
function beginning(reader: JsonReader, wanted: Wanted, code: number): JsonToken {
  if (wanted === "colon") return "wrong";
  const isFirst = wanted === "first name" || wanted === "first value";
  if (code === CLOSE || code === CLOSE_LIST)
    return isFirst || wanted === "next" ? closed(reader, code) : "wrong";
  if (wanted === "next") return "wrong";
  if (code === QUOTE) return string(reader);
  if (wanted === "name" || wanted === "first name") return "wrong";
  if (code !== OPEN && code !== OPEN_LIST) return scalar(reader, code);
  reader.open.push(code === OPEN);
  reader.at++;
  reader.wanted = code === OPEN ? "first name" : "first value";
  return code === OPEN ? "{" : "[";
}

function closed(reader: JsonReader, code: number): JsonToken {
  if (reader.open.pop() !== (code === CLOSE)) return "wrong";
  reader.at++;
  reader.wanted = "next";
  return code === CLOSE ? "}" : "]";
}

/** Skips blanks, at most a slice of them; returns whether something else follows. */
function skipBlanks(reader: JsonReader): boolean {
  const { text, slice } = reader;
  for (const end = reader.at + slice; reader.at < end; reader.at++) {
    const code = text.charCodeAt(reader.at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return true;
  }
  return false;
}

/** Reads the string that begins at the reader, which rarely has an escaped quote. */
function string(reader: JsonReader): JsonToken {
  const { text, at, slice } = reader;
  const quote = text.indexOf('"', at + 1);
  if (quote === -1) return "wrong";
  if (quote - at <= slice && backslashesBefore(text, quote) % 2 === 0)
    return endOfString(reader, quote);
  reader.at = at + 1;
  return restOfString(reader);
}

/** Reads on within a string, up to a slice of work: from escape to escape, which engines find faster than we look at each character. */
function restOfString(reader: JsonReader): JsonToken {
  const { text, slice } = reader;
  const rest = text.slice(reader.at, reader.at + slice);
  let quote = rest.indexOf('"');
  let at = 0;
  let escapes = 0;
  while (at + STEP * escapes < slice) {
    const escape = rest.indexOf("\\", at);
    if (quote !== -1 && (escape === -1 || quote < escape)) {
      reader.work += STEP * escapes;
      return endOfString(reader, reader.at + quote);
    }
    if (escape === -1) {
      at = rest.length;
      break;
    }
    escapes++;
    at = escape + (text.charCodeAt(reader.at + escape + 1) === U ? 6 : 2);
    if (quote !== -1 && quote < at) quote = rest.indexOf('"', at);
  }
  reader.at += at;
  if (reader.at >= text.length) return "wrong";
  reader.work += STEP * escapes;
  reader.within = "string";
  return "more";
}

function endOfString(reader: JsonReader, quote: number): JsonToken {
  const { wanted } = reader;
  const isName = wanted === "name" || wanted === "first name";
  reader.at = quote + 1;
  reader.within = null;
  reader.wanted = isName ? "colon" : "next";
  return isName ? "name" : "string";
}

/** Characters of a number that are read at a time. */
const DIGITS = 64 * 1024;
const digits = /[\d.eE+-]{0,65536}/y;
const words = /-?Infinity|true|false|null|NaN/y;

/** Reads a value other than a string. The caller checks whether a number is well-formed. */
function scalar(reader: JsonReader, code: number): JsonToken {
  const { text, at } = reader;
  if (isDigit(code) || (code === MINUS && isDigit(text.charCodeAt(at + 1)))) {
    reader.at++;
    return restOfNumber(reader);
  }
  words.lastIndex = at;
  if (!words.test(text)) return "wrong";
  reader.at = words.lastIndex;
  reader.wanted = "next";
  return "word";
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** Reads on within a number, up to a slice of it. */
function restOfNumber(reader: JsonReader): JsonToken {
  for (const end = reader.at + reader.slice; reader.at < end;) {
    digits.lastIndex = reader.at;
    digits.test(reader.text);
    const read = digits.lastIndex - reader.at;
    reader.at += read;
    if (read === DIGITS) continue;
    reader.within = null;
    reader.wanted = "next";
    return "number";
  }
  reader.within = "number";
  return "more";
}

/**
 * Moves the reader behind the array or object that it has just begun to read, whatever is in it; returns whether that ends.
 */
export function skipContainer(reader: JsonReader): boolean {
  const { text } = reader;
  let depth = 1;
  for (let at = reader.at; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    // { and [ differ in one bit, } and ] likewise.
    else if ((code | 32) === OPEN) depth++;
    else if ((code | 32) === CLOSE && --depth === 0) {
      reader.at = at + 1;
      reader.open.pop();
      reader.wanted = "next";
      return true;
    }
  }
  return false;
}
