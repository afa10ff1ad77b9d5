import { eventData } from "../usage/sse-events.ts";

/** Members that say how a message is built, not what it says. */
const structural: ReadonlySet<string> = new Set([
  "created",
  "event",
  "finish_reason",
  "finishReason",
  "id",
  "item_id",
  "model",
  "modelVersion",
  "object",
  "obfuscation",
  "responseId",
  "role",
  "service_tier",
  "signature",
  "status",
  "stop_reason",
  "system_fingerprint",
  "thoughtSignature",
  "tool_call_id",
  "tool_use_id",
  "type",
]);

/** Members with what people and models say, in the formats of OpenAI, Anthropic, Gemini and Workers AI. */
const spoken: readonly string[] = [
  "candidates",
  "choices",
  "content",
  "content_block",
  "contents",
  "delta",
  "input",
  "inputs",
  "instructions",
  "message",
  "messages",
  "output",
  "prompt",
  "query",
  "response",
  "result",
  "summary",
  "system",
  "systemInstruction",
  "system_instruction",
  "text",
];

/** What tells the pieces of several texts in one stream apart. */
const discriminators: readonly string[] = ["index", "output_index", "content_index", "item_id"];

/** Members without a word in them: seals of thoughts, and padding. */
const opaque: ReadonlySet<string> = new Set(["obfuscation", "signature", "thoughtSignature"]);

/** Members below which every name is the caller's own: what a tool is called with. */
const free: ReadonlySet<string> = new Set(["args", "arguments"]);

/** Levels of nesting that are taken apart; deeper JSON is no chat, and is looked at as it stands. */
const DEPTH = 200;
/** Names of members as programs use them; any other can be data. */
const plainName = /^[A-Za-z_]*$/;
/** Numbers from which one can identify something: dates and counts are smaller. */
const LONG_NUMBER = 1e12;
/** Characters from which a text without blanks can be an image or a sound. */
const BLOB = 1024;

/** A place in a body. A path written out would be as long as all names on the way to it. */
interface Place {
  readonly within: Place | null;
  readonly name: string;
  /** The same for the same path; undefined until there is text at or below it. */
  number?: number;
}

/** Collects texts by their place; pieces of one place are joined, as the deltas of a stream are. */
interface Texts {
  add(place: Place, text: string): void;
  text(): string;
  /** Members that are passed over. */
  readonly skipped: ReadonlySet<string>;
  /** Whether names of members are looked at. */
  readonly names: boolean;
  /** Something was nested too deeply to be taken apart. */
  deep: boolean;
}

function texts(skipped: ReadonlySet<string>, names: boolean): Texts {
  const byPlace = new Map<number, string[]>();
  const numbers = new Map<string, number>();
  const numberOf = (place: Place | null): number => {
    if (place === null) return 0;
    if (place.number !== undefined) return place.number;
    const key = `${numberOf(place.within)}.${place.name}`;
    const number = numbers.get(key) ?? numbers.size + 1;
    numbers.set(key, number);
    place.number = number;
    return number;
  };
  return {
    skipped,
    names,
    deep: false,
    add(place, text) {
      if (isBlob(text)) return;
      const number = numberOf(place);
      const pieces = byPlace.get(number);
      if (pieces === undefined) byPlace.set(number, [text]);
      else pieces.push(text);
    },
    text: () => [...byPlace.values()].map((pieces) => pieces.join("")).join("\n"),
  };
}

/** Base64 data, whole or as a URL: no text. What only begins like it is text. */
function isBlob(text: string): boolean {
  return text.length >= BLOB && /^(?:data:[\w.+/;=-]{1,100},)?[A-Za-z0-9+/_-]+={0,2}$/.test(text);
}

/** A stream under another name: as it stands its pieces would not be joined. */
const looksLikeStream = /^\uFEFF?\s*(?:data|event|id|retry)?:/;

/** Where a message that names no place of its own begins. */
const root: Place = { within: null, name: "", number: 0 };

function placeIn(within: Place, name: string): Place {
  return { within, name };
}

/** Which part of a message is read. */
export type Scope = "all" | "spoken";

/**
 * The text of a body, whatever provider's format it has: a JSON document, a stream of server-sent events
 * (whose deltas are joined, so that nothing hides on the border of two) or plain text. `spoken` leaves out
 * what is no part of the conversation, such as tool definitions.
 */
export function textOf(body: string, contentType: string, scope: Scope): string {
  const isStream = contentType.toLowerCase().startsWith("text/event-stream");
  const events = isStream || looksLikeStream.test(body) ? eventsOf(body) : [];
  if (events.length > 0) {
    // Ids of a stream come with every event.
    const found = texts(structural, false);
    for (const event of events) collect(parsed(event) ?? event, scope, found);
    return isStream ? textIn(found, body) : `${found.text()}\n${body}`;
  }
  const found = scope === "all" ? texts(opaque, true) : texts(structural, false);
  const value = parsed(body);
  if (value === undefined) return linesOf(body, scope, found);
  // Gemini streams without `alt=sse` are one array of what would be events.
  for (const message of Array.isArray(value) ? value : [value]) collect(message, scope, found);
  return textIn(found, body);
}

/** The data of every event but the end mark. */
function eventsOf(body: string): string[] {
  return eventData(body).filter((event) => event !== "[DONE]");
}

function textIn(found: Texts, body: string): string {
  return found.deep ? `${found.text()}\n${body}` : found.text();
}

/** Text, or a JSON document in each line, as batches and training data are written. */
function linesOf(body: string, scope: Scope, found: Texts): string {
  if (!/^\s*\{/.test(body)) return body;
  const lines = body.split("\n").map((line) => ({ line, value: parsed(line) }));
  if (lines.every(({ value }) => value === undefined)) return body;
  for (const { line, value } of lines) {
    if (value === undefined) found.add(root, `${line}\n`);
    else collect(value, scope, found);
  }
  return textIn(found, body);
}

function collect(message: unknown, scope: Scope, found: Texts): void {
  const own = discriminatorOf(message);
  const prefix = own === "" ? root : placeIn(root, own);
  const { skipped } = found;
  if (scope === "all" || !isObject(message)) return walk(message, prefix, 0, skipped, found);
  const known = spoken.filter((key) => Object.hasOwn(message, key));
  // An unknown format: better too much than nothing.
  if (known.length === 0) return walk(message, prefix, 0, skipped, found);
  for (const key of known) walk(message[key], placeIn(prefix, key), 1, skipped, found);
}

function walk(
  value: unknown,
  place: Place,
  depth: number,
  skipped: ReadonlySet<string>,
  found: Texts,
): void {
  if (typeof value === "string") return found.add(place, value);
  // A card number can be written as a number as well.
  if (typeof value === "number" && value >= LONG_NUMBER) return found.add(place, `${value}\n`);
  if (typeof value !== "object" || value === null) return;
  if (depth > DEPTH) {
    found.deep = true;
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const at = placeIn(place, `[${discriminatorOf(item) || index}]`);
      walk(item, at, depth + 1, skipped, found);
    }
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (found.names && !plainName.test(key)) found.add(placeIn(place, ""), `${key}\n`);
    if (skipped.has(key)) continue;
    walk(item, placeIn(place, key), depth + 1, free.has(key) ? opaque : skipped, found);
  }
}

function discriminatorOf(value: unknown): string {
  if (!isObject(value)) return "";
  return discriminators
    .filter((key) => Object.hasOwn(value, key))
    .map((key) => `${key}=${String(value[key])}`)
    .join("&");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
