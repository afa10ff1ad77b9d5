/** A JSON object, seen from outside: anything may be in it. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is an object with members, and no list. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as an object; null when it is anything else. */
export function asObject(value: unknown): Json | null {
  return isObject(value) ? value : null;
}

/** The value of a JSON text; undefined for malformed JSON. */
export function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * The value of a JSON text from a stranger; undefined for malformed JSON, or one that exceeds the bounds of {@link
 * jsonExcess}.
 */
export function boundedJson(json: string): unknown {
  return jsonExcess(json) === null ? parsedJson(json) : undefined;
}

/**
 * Whether a JSON text may hold one of some texts, such as the ends of names with their quotes; letters can be escaped. Engines
 * look for each text much faster than for all in one pattern.
 */
export function mayMention(json: string, texts: readonly string[]): boolean {
  return json.includes("\\u00") || texts.some((text) => json.includes(text));
}

/** The object of a JSON text; null for any other value and for malformed JSON. */
export function parsedObject(json: string): Json | null {
  return asObject(parsedJson(json));
}

/** Returns a record's own member. Callers name the key, so inherited ones such as "constructor" must not be found. */
export function ownMember<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** The value as an object; an empty one when it is anything else, so that paths can be followed. */
export function jsonObject(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** The elements of an array as objects; an empty list for anything else. */
export function jsonObjects(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(jsonObject) : [];
}

/** The value as text; a number is written out, anything else is the fallback. */
export function jsonText(value: unknown, fallback: string = ""): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : fallback;
}

/** The value as a count; 0 when it is anything else. */
export function jsonCount(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** A value of a record's body. */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Value[]
  | { readonly [key: string]: Value };

/** The bounds of JSON from strangers, by the words that say what is too much. */
export const jsonBounds = {
  /** More than any client sends, and far from where engines give up. */
  levels: 256,
  /** Members of all objects. */
  members: 20_000,
  /** Names of members: engines take up to two milliseconds for a thousand, and hardly anything for the same ones. */
  "different names": 5000,
  /** Elements, members and containers in all. */
  values: 200_000,
  /** Engines take ten times as long for one as for a number. */
  "lists and objects": 50_000,
} as const;
const LEVELS = jsonBounds.levels;
const MEMBERS = jsonBounds.members;
const NAMES = jsonBounds["different names"];
const VALUES = jsonBounds.values;
const CONTAINERS = jsonBounds["lists and objects"];
/** Characters that hold too few of anything to take long; every level takes two. */
const SHORT = 2 * LEVELS;

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;

/**
 * The bound that a JSON text exceeds, e.g. `more than 20000 members`; null when it exceeds none. Parsing and walking
 * through one body of a megabyte can hold a process up for a quarter of a second. Long strings are harmless, so quoted
 * text is skipped.
 */
export function jsonExcess(text: string, mostValues: number = VALUES): string | null {
  if (text.length <= SHORT) return null;
  let members = 0;
  let values = 0;
  let containers = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfText(text, at);
    else if (code === COLON) members++;
    else if (code === COMMA) values++;
    // { and [ differ in one bit, } and ] likewise.
    else if ((code | 32) === 123) {
      values++;
      containers++;
      depth++;
      if (depth > LEVELS) return `more than ${LEVELS} levels`;
    } else if ((code | 32) === 125) depth--;
    else at = nextSign(text, at) - 1;
    if (members > MEMBERS) return `more than ${MEMBERS} members`;
    if (values > mostValues) return `more than ${mostValues} values`;
    if (containers > CONTAINERS) return `more than ${CONTAINERS} lists and objects`;
  }
  return members > NAMES && hasManyNames(text) ? `more than ${NAMES} different names` : null;
}

/** Whether the members of a JSON text have more than {@link NAMES} different names; it reads no further than to one too many. */
function hasManyNames(text: string): boolean {
  const names = new Set<string>();
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      start = at;
      at = end = endOfText(text, at);
    } else if (code === COLON) {
      names.add(text.slice(start, end));
      if (names.size > NAMES) return true;
    } else at = nextSign(text, at + 1) - 1;
  }
  return false;
}

/** Counts the members of all objects of a JSON text, repeated names included. */
export function memberCount(json: string): number {
  let members = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at);
    else if (code === COLON) members++;
    else if (code < COLON && code !== COMMA) at = nextSign(json, at) - 1;
  }
  return members;
}

const SIGN = /["{}[\],:]/gu;
/** Characters that are looked at one by one: an expression takes as long to begin. */
const NEAR = 16;

/**
 * The index of the next sign of JSON, a quote included, from `start` on; the text's end behind the last one. It passes over
 * ten million digits or blanks in a millisecond; looking at each takes 60 ms.
 */
function nextSign(text: string, start: number): number {
  let at = start;
  for (const near = Math.min(start + NEAR, text.length); at < near; at++)
    if (isSign(text.charCodeAt(at))) return at;
  SIGN.lastIndex = at;
  return SIGN.test(text) ? SIGN.lastIndex - 1 : text.length;
}

/** The signs of {@link SIGN}; { and [ differ in one bit, } and ] likewise. */
function isSign(code: number): boolean {
  return (
    code === QUOTE || code === COMMA || code === COLON || (code | 32) === 123 || (code | 32) === 125
  );
}

/** The index of the quote that ends the string which begins at `start`; the text's end for an unclosed string. */
export function endOfText(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at === -1) return text.length;
    if (backslashesBefore(text, at) % 2 === 0) return at;
  }
}

/** Counts the backslashes that end at `end`: an odd number escapes what follows. */
export function backslashesBefore(text: string, end: number): number {
  let at = end;
  while (text.charCodeAt(at - 1) === BACKSLASH) at--;
  return end - at;
}
