import { jsonSource } from "../../http/json/json-source.ts";
import { DIGEST, type IdSource, type Source } from "./scheme.ts";

/** A JSON text and its value. */
export interface Payload {
  readonly value: unknown;
  readonly text: string;
}

/** Reads one value of a request: made once per configured source, used for every request. */
export type TextReader = (headers: Headers, payload: Payload) => string | null;

/** The text at a dotted path of JSON; a number is the text that it was written as, anything else (or nothing) is null. */
export function textAt(payload: Payload, path: string): string | null {
  return textUnder(payload, path.split("."));
}

/** Whether a dotted path of JSON leads to a list of nothing. */
export function isEmptyList({ value }: Payload, path: string): boolean {
  const at = valueUnder(value, path.split("."));
  return Array.isArray(at) && at.length === 0;
}

/** A reader of the first non-empty text among sources of a request's headers and parsed body. */
export function firstReader(sources: readonly Source[] = []): TextReader {
  const readers = sources.map(readerOf);
  return (headers, payload) => {
    for (const read of readers) {
      const text = read(headers, payload);
      if (text !== null && text !== "") return text;
    }
    return null;
  };
}

/** An id that was read; `digested` asks for the digest of the payload behind the text, or alone when the text is empty. */
export interface PickedId {
  readonly text: string;
  readonly digested: boolean;
}

/** Reads the id of an event; null when no source has one. */
export type IdReader = (headers: Headers, payload: Payload) => PickedId | null;

/** A reader of the first id among sources. */
export function idReader(sources: readonly IdSource[] = []): IdReader {
  const rules = sources.map(idRule);
  return (headers, payload) => {
    for (const { readers, digested } of rules) {
      const text = joinedId(readers, headers, payload);
      if (text !== null) return { text, digested };
    }
    return null;
  };
}

function idRule(source: IdSource): { readers: readonly TextReader[]; digested: boolean } {
  const parts = typeof source === "string" ? [source] : source;
  const readers = parts.flatMap((part) => (part === DIGEST ? [] : [readerOf(part)]));
  return { readers, digested: parts.includes(DIGEST) };
}

/** All parts of an id; null when one is missing. */
function joinedId(
  readers: readonly TextReader[],
  headers: Headers,
  payload: Payload,
): string | null {
  let text = "";
  for (const [index, read] of readers.entries()) {
    const part = read(headers, payload);
    if (part === null || part === "") return null;
    text = index === 0 ? part : `${text}:${part}`;
  }
  return text;
}

/** The first non-empty text at one of several dotted paths. */
export function firstTextAt(payload: Payload, paths: readonly string[]): string | null {
  for (const path of paths) {
    const text = textAt(payload, path);
    if (text !== null && text !== "") return text;
  }
  return null;
}

/** The part of a source after its colon. */
export function nameOf(source: string): string {
  return source.slice(source.indexOf(":") + 1);
}

function readerOf(source: Source): TextReader {
  const name = nameOf(source);
  if (source.startsWith("header:")) return (headers) => headers.get(name);
  const keys = name.split(".");
  return (_, payload) => textUnder(payload, keys);
}

function textUnder({ value, text }: Payload, keys: readonly string[]): string | null {
  let at: unknown = value;
  for (const [index, key] of keys.entries()) {
    if (key === "*" && Array.isArray(at)) return commonText(at, keys.slice(index + 1));
    // Own members only: a path never walks a prototype.
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return null;
    at = (at as Record<string, unknown>)[key];
  }
  if (typeof at === "string") return at;
  // Rounded, two ids of many digits would be one.
  return typeof at === "number" ? (jsonSource(text, keys) ?? String(at)) : null;
}

function valueUnder(value: unknown, keys: readonly string[]): unknown {
  let at = value;
  for (const key of keys) {
    // Own members only: a path never walks a prototype.
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** The text that every element of a list has at a path; null if two differ, or one has none. */
function commonText(list: readonly unknown[], keys: readonly string[]): string | null {
  const texts = new Set(list.map((value) => textUnder({ value, text: "" }, keys)));
  const [text = null] = texts;
  return texts.size === 1 ? text : null;
}
