import { utf8 } from "../../crypto/encoding.ts";
import { joinBytes } from "../../http/stream.ts";

/** One part of a multipart body (RFC 2046, section 5.1; RFC 7578 for forms). */
export interface Part {
  readonly name: string;
  /** Null: a field, not a file. */
  readonly fileName: string | null;
  /** Content type in lower case; empty without one. */
  readonly type: string;
  readonly body: Uint8Array;
}

/** Parts of one body, and bytes of the head of each: a form of a model provider has a dozen. */
const PARTS = 256;
const HEAD = 8 * 1024;

/** Bytes of a form that is read for a virtual key: a file of 25 MiB, which OpenAI takes at most, and its fields. */
export const FORM_LIMIT: number = 26 * 1024 * 1024;

const CRLF = 13;
const LF = 10;
const DASH = 45;

/** The parts of bodies that were read: several ask for them, and a search through 25 MB takes 10 ms. */
const read = new WeakMap<Uint8Array, { readonly type: string; readonly parts: Part[] | null }>();

/**
 * Returns the parts of a multipart body; null for other bodies, for one that is cut off, or one with more or larger heads
 * than any client sends. Nothing is copied: the bodies are views of the bytes.
 */
export function partsOf(bytes: Uint8Array, type: string): readonly Part[] | null {
  const known = read.get(bytes);
  if (known?.type === type) return known.parts;
  const parts = readParts(bytes, type);
  read.set(bytes, { type, parts });
  return parts;
}

/** A form with one field for the model. */
export interface ModelForm {
  readonly model: string;
  /** Returns the bytes of the form with another model; all others stay. */
  withModel(model: string): Uint8Array;
}

/** Reads a form; null for one that names no model, or several. */
export function modelForm(bytes: Uint8Array, contentType: string): ModelForm | null {
  const fields = partsOf(bytes, contentType)?.filter(({ name }) => name === "model") ?? [];
  const [field] = fields;
  if (field === undefined || fields.length > 1) return null;
  const start = field.body.byteOffset - bytes.byteOffset;
  const behind = bytes.subarray(start + field.body.length);
  return {
    model: new TextDecoder().decode(field.body.subarray(0, HEAD)),
    withModel: (model) => joinBytes([bytes.subarray(0, start), utf8(model), behind]),
  };
}

function readParts(bytes: Uint8Array, contentType: string): Part[] | null {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return null;
  const parts: Part[] = [];
  let at = delimiterAfter(bytes, boundary, 0);
  while (at !== null && !at.isLast) {
    const next = delimiterAfter(bytes, boundary, at.behind);
    const part = next === null ? null : partIn(bytes.subarray(at.behind, next.start));
    if (part === null || parts.length === PARTS) return null;
    parts.push(part);
    at = next;
  }
  return at === null ? null : parts;
}

/** The bytes that part a body, and how far a search goes on behind each last byte. */
interface Boundary {
  readonly word: Uint8Array;
  readonly steps: Uint16Array;
}

/** Returns the boundary; null without one, and for several: parsers differ in which they take. */
function boundaryOf(contentType: string): Boundary | null {
  if ((contentType.match(/boundary\*?=/gi)?.length ?? 0) !== 1) return null;
  const found = /;\s*boundary=(?:"([^"\r\n]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType);
  const boundary = found?.[1] ?? found?.[2];
  if (boundary === undefined) return null;
  const word = new TextEncoder().encode(`--${boundary}`);
  const steps = new Uint16Array(256).fill(word.length);
  for (let i = 0; i < word.length - 1; i++) steps[word[i] ?? 0] = word.length - 1 - i;
  return { word, steps };
}

interface Delimiter {
  /** The start of the line break before it. */
  readonly start: number;
  readonly behind: number;
  readonly isLast: boolean;
}

/** Finds the next line that begins with the boundary. */
function delimiterAfter(bytes: Uint8Array, boundary: Boundary, from: number): Delimiter | null {
  const at = lineWith(bytes, boundary, from);
  if (at === -1) return null;
  const end = at + boundary.word.length;
  const isLast = bytes[end] === DASH && bytes[end + 1] === DASH;
  const line = bytes.indexOf(LF, end);
  if (!isLast && line === -1) return null;
  const start = at < 2 ? at : bytes[at - 2] === CRLF ? at - 2 : at - 1;
  return { start: Math.max(from, start), behind: isLast ? end : line + 1, isLast };
}

/** Finds where the next line begins with the boundary; -1 for none. Steps as far as the last byte allows (Boyer, Moore, Horspool). */
function lineWith(bytes: Uint8Array, { word, steps }: Boundary, from: number): number {
  const last = word.length - 1;
  for (let at = from; at + last < bytes.length; at += steps[bytes[at + last] ?? 0] ?? 1)
    if ((at === 0 || bytes[at - 1] === LF) && startsWith(bytes, word, at)) return at;
  return -1;
}

function startsWith(bytes: Uint8Array, word: Uint8Array, at: number): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
  return true;
}

function partIn(bytes: Uint8Array): Part | null {
  const head = headOf(bytes);
  if (head === null) return null;
  const lines = head.text.split(/\r?\n/);
  const valueOf = (name: string): string => {
    const line = lines.find((one) => one.toLowerCase().startsWith(`${name}:`));
    return line === undefined ? "" : line.slice(name.length + 1).trim();
  };
  const disposition = valueOf("content-disposition");
  return {
    name: parameter(disposition, "name") ?? "",
    fileName: parameter(disposition, "filename") ?? parameter(disposition, "filename\\*"),
    type: valueOf("content-type").toLowerCase(),
    body: bytes.subarray(head.length),
  };
}

function headOf(bytes: Uint8Array): { text: string; length: number } | null {
  for (let at = bytes.indexOf(LF); at !== -1 && at < HEAD; at = bytes.indexOf(LF, at + 1)) {
    const isEnd = at === 0 || (at === 1 && bytes[0] === CRLF);
    const behind = bytes[at + 1] === CRLF ? at + 2 : at + 1;
    if (!isEnd && bytes[behind] !== LF) continue;
    const text = new TextDecoder().decode(bytes.subarray(0, at));
    return { text: isEnd ? "" : text, length: isEnd ? at + 1 : behind + 1 };
  }
  return null;
}

function parameter(value: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}=(?:"([^"]*)"|([^\\s;]*))`, "i").exec(value);
  return found?.[1] ?? found?.[2] ?? null;
}
