import { jsonReader, nextToken } from "../../../http/json/json-reader.ts";
import { parsedJson } from "../../../http/json.ts";
import { opaque } from "../../chat/formats/members.ts";
import type { Pattern, TextSpan } from "../detect/pattern.ts";
import { cutAfter, evenForm } from "../detect/plain-form.ts";
import { isBlob } from "../text/json-texts.ts";
import { isDue, SLICE, type Slices, type WorkMeter, workMeter } from "../text/slices.ts";
import type { Placeholders } from "./placeholders.ts";

/** Characters that are looked at in one go. */
const WINDOW: number = SLICE / 2;

/** Characters that JSON escapes: a value with one would not fit into any other place, such as the JSON of a tool's call. */
const escaped = /["\\\p{Cc}]/u;

export interface Masking {
  readonly patterns: readonly Pattern[];
  readonly placeholders: Placeholders;
}

/**
 * Replaces what patterns find in the string values of a JSON document. All other bytes stay as they are. Null for anything
 * else than JSON.
 */
export function* maskedJson(json: string, masking: Masking): Slices<string | null> {
  const counted = workMeter();
  const reader = jsonReader(json, 0, { slice: SLICE });
  const pieces: string[] = [];
  let copied = 0;
  let start = -1;
  let name = "";
  for (;;) {
    const token = nextToken(reader);
    const { work, within } = reader;
    reader.work = 0;
    if (isDue(counted, work)) yield;
    if (token === "wrong") return null;
    if (token === "end") break;
    // A long token comes in pieces.
    if (start === -1) start = reader.start;
    if (token === "more") {
      if (within === null) start = -1;
      continue;
    }
    const raw = token === "string" || token === "name" ? json.slice(start, reader.at) : "";
    if (token === "string" && !opaque.has(name)) {
      const masked = yield* maskedString(raw, masking, counted);
      if (masked !== null) {
        pieces.push(json.slice(copied, start), masked);
        copied = reader.at;
      }
    }
    name = token === "name" ? raw.slice(1, -1) : "";
    start = -1;
  }
  return copied === 0 ? json : pieces.join("") + json.slice(copied);
}

/** Returns a string of JSON with placeholders; null where nothing was found. */
function* maskedString(raw: string, masking: Masking, counted: WorkMeter): Slices<string | null> {
  // Nothing shorter can be found.
  if (raw.length < 8) return null;
  const text = parsedJson(raw);
  if (typeof text !== "string" || (yield* isBlob(text, counted))) return null;
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const next = cutAfter(text, at + WINDOW);
    pieces.push(maskedText(text.slice(at, next), masking));
    if (isDue(counted, (next - at) * masking.patterns.length)) yield;
    at = next;
  }
  const masked = pieces.join("");
  return masked === text ? null : JSON.stringify(masked);
}

function maskedText(given: string, { patterns, placeholders }: Masking): string {
  let text = given;
  for (const pattern of patterns) {
    const even = evenForm(text);
    const pieces: string[] = [];
    let copied = 0;
    for (const found of pattern.find(even).toSorted((a, b) => a.start - b.start)) {
      const { start, end } = wholeOf(pattern, even, found) ?? { start: 0, end: 0 };
      const value = text.slice(start, end);
      if (start < copied || value === "" || escaped.test(value)) continue;
      const name = placeholders.of(pattern.type, value);
      if (name === null) continue;
      pieces.push(text.slice(copied, start), name);
      copied = end;
    }
    if (copied > 0) text = pieces.join("") + text.slice(copied);
  }
  return text;
}

function wholeOf(pattern: Pattern, text: string, span: TextSpan): TextSpan | null {
  return pattern.whole === undefined ? span : pattern.whole(text, span);
}
