import { toBase64, utf8 } from "../../crypto/encoding.ts";
import type { System } from "../../ports.ts";
import { joinBytes } from "../stream.ts";
import { cutText, PIECE } from "./json-pieces.ts";

/** A text of any size in JSON, made while it is sent. */
export interface LongText {
  /** Yields the text between the quotes of its JSON, in parts. */
  readonly jsonParts: () => Iterable<string>;
}

/** Bytes that become one part: about a millisecond of work. A multiple of 3, so that parts of base64 need no padding. */
const PART_BYTES = 3 * 128 * 1024;

/** A text that is there in UTF-8. */
export function longText(encoded: Uint8Array): LongText {
  return {
    *jsonParts() {
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      for (let at = 0; at < encoded.length; at += PART_BYTES) {
        const stream = at + PART_BYTES < encoded.length;
        const text = decoder.decode(encoded.subarray(at, at + PART_BYTES), { stream });
        yield JSON.stringify(text).slice(1, -1);
      }
    },
  };
}

/** Bytes as base64, behind what a data URL begins with. */
export function longBase64(bytes: Uint8Array, before: string = ""): LongText {
  return {
    *jsonParts() {
      if (before !== "") yield JSON.stringify(before).slice(1, -1);
      for (let at = 0; at < bytes.length; at += PART_BYTES)
        yield toBase64(bytes.subarray(at, at + PART_BYTES));
    },
  };
}

/** Yields the JSON of an object or a list. Each {@link LongText} and each string as long as one has parts of its own. */
export function* jsonParts(value: object): Generator<string, void, void> {
  let text = "";
  for (const piece of pieces(value)) {
    if (typeof piece === "string") {
      text += piece;
      continue;
    }
    yield `${text}"`;
    yield* piece.jsonParts();
    text = '"';
  }
  yield text;
}

function* pieces(value: unknown): Generator<string | LongText, void, void> {
  if (isLongText(value)) return yield value;
  if (isLongString(value)) return yield cutString(value);
  if (!holds(value, isLong)) return yield JSON.stringify(value);
  const isList = Array.isArray(value);
  let separator = isList ? "[" : "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined && !isList) continue;
    yield isList ? separator : `${separator}${JSON.stringify(name)}:`;
    separator = ",";
    yield* pieces(member ?? null);
  }
  yield isList ? "]" : "}";
}

/** Whether a value is a {@link LongText}, or has one in it. */
export function holdsLongText(value: unknown): boolean {
  return holds(value, isLongText);
}

function holds(value: unknown, isOne: (value: unknown) => boolean): value is object {
  if (isOne(value)) return true;
  return (
    typeof value === "object" &&
    value !== null &&
    Object.values(value).some((member) => holds(member, isOne))
  );
}

const isLong = (value: unknown): boolean => isLongText(value) || isLongString(value);

function isLongString(value: unknown): value is string {
  return typeof value === "string" && value.length > PIECE;
}

function cutString(text: string): LongText {
  return {
    *jsonParts() {
      for (const part of cutText(text)) yield JSON.stringify(part).slice(1, -1);
    },
  };
}

function isLongText(value: unknown): value is LongText {
  return (
    typeof value === "object" &&
    value !== null &&
    "jsonParts" in value &&
    typeof value.jsonParts === "function"
  );
}

/** Makes the JSON of an object or a list in UTF-8, and lets others go on between the parts of its long texts. */
export async function jsonInSteps(
  value: object,
  system: Pick<System, "sleep">,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for (const part of jsonParts(value)) {
    if (parts.length > 0) await system.sleep(0);
    parts.push(utf8(part));
  }
  return joinBytes(parts);
}

/** Does the same as `toBase64()`, and lets others go on: 4 MB take several milliseconds. */
export async function base64InSteps(
  bytes: Uint8Array,
  system: Pick<System, "sleep">,
): Promise<string> {
  const parts: string[] = [];
  for (const part of longBase64(bytes).jsonParts()) {
    if (parts.length > 0) await system.sleep(0);
    parts.push(part);
  }
  return parts.join("");
}
