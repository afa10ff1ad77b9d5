import { utf8 } from "../../crypto/encoding.ts";
import { boundedJson } from "../../http/json.ts";
import type { HeaderPair } from "../../ports.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import { decoded, encodingOf } from "./body-bytes.ts";
import { headerValue } from "./header-hygiene.ts";

/**
 * The text of a body and what it says, kept with its request: several ask for them, and decoding and parsing cost more
 * than their questions.
 */
export interface BodyReading {
  /** The decoded bytes, to notice when the body was replaced. */
  bytes: Uint8Array | null;
  /** @default it is decoded when it is asked for */
  text: string | null;
  /** The value of the text; null until it is asked for. `isStrict`: malformed UTF-8 would have been refused. */
  value: { readonly json: unknown; readonly isStrict: boolean } | null;
}

/** A request whose body may be read. */
export interface ReadableRequest {
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** The bytes of a body without its content encoding; null when they cannot be had. @default the body is not encoded */
  readonly plain?: Uint8Array | null;
  /** @default the text is decoded whenever it is asked for */
  readonly reading?: BodyReading;
}

/** Bytes of an unpacked body that are looked at, as many as of one that came so. */
const PLAIN_LIMIT = 10 * 1024 * 1024;

const decoder = new TextDecoder();

/**
 * Returns the step, with what its packed body holds beside it. Few clients pack, so the others pay a look at their headers.
 */
export function withPlainBody<T extends ReadableRequest>(
  step: T,
  decoding: ContentDecoding,
): Promise<T> | T {
  const { body, headers } = step;
  if (!(body instanceof Uint8Array) || body.length === 0) return step;
  const encoding = encodingOf(headers);
  if (encoding === "") return step;
  return decoded(body, encoding, decoding).then((plain) => ({
    ...step,
    plain: plain !== null && plain.length <= PLAIN_LIMIT ? plain : null,
  }));
}

/**
 * Returns the bytes of a step's body without its content encoding; null without a body, for a stream, and for an unreadable
 * encoding.
 */
export function plainBytes({ body, plain }: ReadableRequest): Uint8Array | null {
  if (plain !== undefined) return plain;
  return body instanceof Uint8Array ? body : null;
}

/** Returns the text of a body; null without one, for a stream, and for an unreadable encoding. */
export function bodyText(step: ReadableRequest): string | null {
  const bytes = plainBytes(step);
  if (bytes === null) return null;
  const { reading } = step;
  if (reading === undefined) return decoder.decode(bytes);
  if (reading.bytes !== bytes) {
    reading.text = null;
    reading.bytes = bytes;
    reading.value = null;
  }
  return (reading.text ??= decoder.decode(bytes));
}

/** Characters of a text whose value is kept as long as its request: that takes more memory than the text. */
const KEPT = 256 * 1024;

/**
 * Returns the value of a body's JSON, which its other readers share; undefined without a body that can be read, and for
 * one that exceeds the bounds of {@link boundedJson}.
 */
export function bodyValue(step: ReadableRequest): unknown {
  const text = bodyText(step);
  if (text === null) return undefined;
  const { reading } = step;
  if (reading === undefined || (text.length > KEPT && reading.value === null))
    return boundedJson(text);
  return (reading.value ??= { json: boundedJson(text), isStrict: false }).json;
}

/**
 * Writes JSON as a request's body. Its text and its value are kept with it, so it is not decoded and parsed again: a long
 * value only if a `translation` follows, which takes it.
 */
export function jsonBody(
  json: unknown,
  translation: boolean = false,
): { body: Uint8Array; reading: BodyReading } {
  const text = JSON.stringify(json);
  const bytes = utf8(text);
  const value = text.length > KEPT && !translation ? null : { json, isStrict: true };
  return { body: bytes, reading: { bytes, text, value } };
}

/**
 * Returns the value of a body that was written or read by `parse` before, else that of `parse`. `parse` refuses malformed
 * UTF-8, which {@link bodyValue} does not.
 */
export function strictValue(
  { body, reading }: ReadableRequest,
  parse: (bytes: Uint8Array) => unknown,
): unknown {
  if (!(body instanceof Uint8Array)) return null;
  const known = reading?.bytes === body ? reading.value : null;
  if (known?.isStrict === true) {
    if (body.length > KEPT && reading !== undefined) reading.value = null;
    return known.json;
  }
  const json = parse(body);
  if (reading === undefined || body.length > KEPT) return json;
  if (reading.bytes !== body) reading.text = null;
  reading.bytes = body;
  reading.value = { json, isStrict: true };
  return json;
}

/** Returns the text of a body that is JSON, or begins as it does whatever its type says; null for any other. */
export function jsonOf(step: ReadableRequest): string | null {
  const bytes = plainBytes(step);
  return bytes !== null && isJson(step, bytes) ? bodyText(step) : null;
}

/** Whether a body of this type can name a model. */
function isJsonType(contentType: string): boolean {
  return /json/i.test(contentType);
}

/** Whether a body is read as JSON. Providers read it so, whatever type it is said to have. */
export function isJson({ headers }: ReadableRequest, bytes: Uint8Array): boolean {
  return isJsonType(headerValue(headers, "content-type") ?? "") || beginsAsJson(bytes);
}

/** White space and the mark in front of UTF-8. */
const SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/** Whether bytes begin as a JSON object or list does. */
export function beginsAsJson(bytes: Uint8Array): boolean {
  let at = 0;
  while (SPACE.has(bytes[at] ?? 0)) at++;
  return bytes[at] === 0x7b || bytes[at] === 0x5b;
}

/** Whether a body says that its text is not UTF-8: then its provider might read other names in it. */
export function inOtherCharset(contentType: string): boolean {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(contentType)?.[1];
  return charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset);
}

/** Whether bytes begin as JSON in UTF-16 or UTF-32 does, which some servers recognise. */
export function beginsAsWideText([first]: Uint8Array): boolean {
  return first === 0 || first === 0xfe || first === 0xff;
}
