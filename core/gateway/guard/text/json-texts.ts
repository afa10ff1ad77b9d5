import {
  type JsonReader,
  jsonReader,
  type JsonToken,
  nextToken,
} from "../../../http/json/json-reader.ts";
import { discriminators, free, opaque, spoken, structural } from "../../chat/formats/members.ts";
import { isDue, SLICE, type Slices, type WorkMeter } from "./slices.ts";

/** Names of members as programs use them; any other can be data. */
const plainName = /^[A-Za-z_]*$/;
/** Characters from which a text without blanks can be an image or a sound. */
const BLOB = 1024;
/** Levels of nesting that are taken apart; no chat nests deeper. */
const DEPTH = 200;
/** Digits from which a number can identify something. */
const LONG = 13;
/** Characters of a number above which it is kept as it is written. */
const LONGEST = 1024;

/** Which part of a message is read. */
export type Scope = "all" | "spoken";

/** A value's place in a body, and how it is read. A path written out would be as long as all names on the way to it. */
export interface TextPlace {
  /** Null for a message. */
  readonly within: TextPlace | null;
  readonly name: string;
  /** What distinguishes a message, or an element of an array, from others; null for members of objects. */
  readonly marks: string[] | null;
  /** The same for the same path; undefined until there is text at or below it. */
  number?: number;
  /** `hasParts`: the message has members that are known to be the conversation's; then only those are read of it. */
  readonly message: { hasParts: boolean };
  /** Whether it is in one of those members. */
  readonly isInPart: boolean;
  /** Whether it is what a person or model says, or a list of that. */
  readonly isSpoken: boolean;
  /** Whether it is passed over. */
  readonly isSkipped: boolean;
  /** Members that are passed over. */
  readonly skipped: ReadonlySet<string>;
}

export interface JsonTexts {
  readonly texts: readonly { readonly text: string; readonly place: TextPlace }[];
  /** The path of the first member whose name its object had before; parsers differ in which of the two they keep. */
  readonly duplicate: string | null;
  /** Whether it is nested too deeply to be taken apart. */
  readonly isDeep: boolean;
}

/** How the texts of a document are found. */
export interface TextReading {
  readonly scope: Scope;
  /** Whether names of members, and members that say how a message is built, are looked at. */
  readonly structure: boolean;
  /** Whether a list is one of messages: Gemini streams without `alt=sse` are one of their events. @default false */
  readonly isList?: boolean;
}

/** An array or object that has not ended. */
interface OpenValue {
  readonly place: TextPlace;
  /** The names of an object's members; null for an array. */
  readonly names: Set<string> | null;
  /** The name of the member that is being read, and whether its object had it before. */
  name: string;
  isRepeated: boolean;
  /** Members or elements that have ended. */
  count: number;
}

interface OpenDocument extends TextReading {
  readonly open: OpenValue[];
  readonly texts: { text: string; place: TextPlace }[];
  duplicate: string | null;
}

/**
 * Finds the texts of a JSON document, as providers may read it, in time in proportion to it: also those of a member whose
 * name has been there before. Null for invalid JSON. A message of an unknown format is read whole, whatever the scope:
 * better too much than nothing.
 */
export function* jsonTexts(
  json: string,
  reading: TextReading,
  counted: WorkMeter,
): Slices<JsonTexts | null> {
  const reader = jsonReader(json, 0, { slice: SLICE });
  const document: OpenDocument = { ...reading, open: [], texts: [], duplicate: null };
  let begun = "";
  for (;;) {
    const token = nextToken(reader);
    const { work, within } = reader;
    reader.work = 0;
    if (isDue(counted, work)) yield;
    if (token === "wrong") return null;
    if (token === "end") return { ...document, isDeep: false };
    if (token === "more" && within === null) continue;
    const piece = pieceOf(reader, token, begun === "");
    if (piece === undefined) return null;
    const text = begun + piece;
    begun = token === "more" ? text : "";
    if (token === "more") continue;
    if (token === "string") yield* takeText(document, text, counted);
    else if (!take(document, token, text)) return null;
    if (reader.open.length > DEPTH) return { ...document, texts: [], isDeep: true };
  }
}

/** Returns the text of a token, or of a piece of one; undefined where an escape is wrong. */
function pieceOf(
  { text, start, at, within }: JsonReader,
  token: JsonToken,
  isFirst: boolean,
): string | undefined {
  const isQuoted = token === "string" || token === "name" || within === "string";
  if (!isQuoted) return text.slice(start, at);
  return unescaped(text.slice(isFirst ? start + 1 : start, within === null ? at - 1 : at));
}

/** Takes a token other than a string; returns whether it is well-formed. */
function take(document: OpenDocument, token: JsonToken, text: string): boolean {
  const { open } = document;
  if (token === "name") takeName(document, text);
  else if (token === "number") return takeNumber(document, text);
  else if (token === "{" || token === "[") {
    mark(open, "");
    const names = token === "{" ? new Set<string>() : null;
    open.push({ place: nextPlace(document), names, name: "", isRepeated: false, count: 0 });
  } else {
    if (token === "word") mark(open, "");
    else open.pop();
    endValue(open);
  }
  return true;
}

function takeName(document: OpenDocument, name: string): void {
  const { open, texts, scope, structure } = document;
  const inner = open.at(-1);
  if (inner === undefined || inner.names === null) return;
  const { names, place } = inner;
  const { size } = names;
  inner.isRepeated = names.add(name).size === size;
  inner.name = name;
  if (inner.isRepeated) document.duplicate ??= pathOf(open);
  if (scope === "spoken" && place.within === null && spoken.has(name))
    place.message.hasParts = true;
  if (!structure || place.isSkipped || plainName.test(name)) return;
  const ofName = { ...place, within: place, name: "", marks: null, isSpoken: false };
  texts.push({ text: `${name}\n`, place: ofName });
}

/** Characters of a path in a message. */
const PATH = 200;

function pathOf(open: readonly OpenValue[]): string {
  const steps = open.map(({ names, name, count }) =>
    names === null ? `[${count}]` : `.${name.slice(0, 64)}`,
  );
  return steps.join("").replace(/^\./, "").slice(-PATH);
}

function* takeText(document: OpenDocument, text: string, counted: WorkMeter): Slices<void> {
  mark(document.open, text);
  if (!isSkipped(document.open.at(-1))) {
    const place = nextPlace(document);
    if (place.isSpoken || !(yield* isBlob(text, counted))) document.texts.push({ text, place });
  }
  endValue(document.open);
}

/** Takes a number: as a text, if it has so many digits that one can identify something. */
function takeNumber(document: OpenDocument, raw: string): boolean {
  const isLong = raw.length > LONGEST;
  const number = Number(raw);
  if (!isLong && Number.isNaN(number)) return false;
  const isText = isLong || Math.abs(number) >= 10 ** (LONG - 1);
  mark(document.open, isText ? "" : String(number));
  if (isText && !isSkipped(document.open.at(-1))) {
    const text = isLong || /^-?\d+$/.test(raw) ? raw : String(number);
    const place = { ...nextPlace(document), isSpoken: false };
    document.texts.push({ text: `${text}\n`, place });
  }
  endValue(document.open);
  return true;
}

/** Whether what begins in an array or object is passed over. */
function isSkipped(inner: OpenValue | undefined): boolean {
  if (inner === undefined) return false;
  const { place, names, name } = inner;
  return place.isSkipped || (names !== null && place.skipped.has(name));
}

function endValue(open: readonly OpenValue[]): void {
  const inner = open.at(-1);
  if (inner !== undefined) inner.count++;
}

/** Marks the object whose member begins, where that distinguishes it from others. */
function mark(open: readonly OpenValue[], leaf: string): void {
  const inner = open.at(-1);
  if (inner === undefined || inner.place.marks === null) return;
  const at = discriminators.indexOf(inner.name);
  if (at !== -1) inner.place.marks[at] = `${inner.name}=${leaf}`;
}

/** Returns the place of the value that begins. */
function nextPlace({ open, isList, structure }: OpenDocument): TextPlace {
  const inner = open.at(-1);
  if (inner === undefined || (isList === true && open.length === 1 && inner.names === null)) {
    const skipped = structure ? opaque : structural;
    const plain = { isInPart: false, isSpoken: false, isSkipped: false, skipped };
    return { within: null, name: "", marks: [], message: { hasParts: false }, ...plain };
  }
  const { place, names, name, count } = inner;
  const { skipped, message, isInPart, isSpoken } = place;
  if (names === null) {
    const same = { message, isInPart, isSpoken, isSkipped: place.isSkipped, skipped };
    return { within: place, name: `[${count}]`, marks: [], ...same };
  }
  return {
    within: place,
    // Members of the same name get places of their own: one must not continue the text of the other.
    name: inner.isRepeated ? `${name} ${count}` : name,
    marks: null,
    message,
    isInPart: isInPart || (place.within === null && spoken.has(name)),
    isSpoken: spoken.has(name),
    isSkipped: isSkipped(inner),
    skipped: free.has(name) ? opaque : skipped,
  };
}

/** Whether a string is base64 data, whole or as a URL. A string that only begins like it is text. */
export function* isBlob(text: string, counted: WorkMeter): Slices<boolean> {
  if (text.length < BLOB) return false;
  const start = /^data:[\w.+/;=-]{1,100},/.exec(text)?.[0].length ?? 0;
  const end = text.length - (/={1,2}$/.exec(text.slice(-2))?.[0].length ?? 0);
  for (let at = start; at < end; at += SLICE) {
    if (!/^[A-Za-z0-9+/_-]+$/.test(text.slice(at, Math.min(at + SLICE, end)))) return false;
    if (isDue(counted, SLICE)) yield;
  }
  return true;
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
