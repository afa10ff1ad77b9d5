import type { JsonValue } from "./json-value.ts";
import { isDue, type WorkMeter, SLICE, type Slices, STEP } from "./slices.ts";

/** Members that say how a message is built, not what it says. */
export const structural: ReadonlySet<string> = new Set([
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
const spoken: ReadonlySet<string> = new Set([
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
]);

/** Members that distinguish the pieces of several texts in one stream. */
const discriminators: readonly string[] = ["index", "output_index", "content_index", "item_id"];

/** Members without a word in them: seals of thoughts, and padding. */
export const opaque: ReadonlySet<string> = new Set([
  "obfuscation",
  "signature",
  "thoughtSignature",
]);

/** Members below which every name is the caller's own: what a tool is called with. */
const free: ReadonlySet<string> = new Set(["args", "arguments"]);

/** Names of members as programs use them; any other can be data. */
const plainName = /^[A-Za-z_]*$/;
/** Characters from which a text without blanks can be an image or a sound. */
const BLOB = 1024;

/** Which part of a message is read. */
export type Scope = "all" | "spoken";

/** A place in a body. A path written out would be as long as all names on the way to it. */
interface Place {
  readonly within: Place | null;
  readonly name: string;
  /** The same for the same path; undefined until there is text at or below it. */
  number?: number;
}

/** The place of a message that names none of its own. */
const root: Place = { within: null, name: "", number: 0 };

/** Collects the texts of JSON documents by their place; pieces of one place are joined, as the deltas of a stream are. */
export interface TextCollector {
  /** Takes the texts of a message. */
  collect(message: JsonValue): Slices<void>;
  /** Takes a text other than JSON. */
  add(text: string): void;
  /**
   * All texts, each on lines of its own. First what people and models say, in its order. A model reads messages and
   * their parts one after the other, so nothing may stand between them here.
   */
  text(): Slices<string>;
}

/** Options of a {@link TextCollector}. */
export interface TextCollectorOptions {
  readonly scope: Scope;
  /** Members that are passed over. */
  readonly skipped: ReadonlySet<string>;
  /** Whether names of members are looked at. */
  readonly names: boolean;
  readonly counted: WorkMeter;
}

/** How a value is read. */
interface Reading {
  readonly place: Place;
  readonly skipped: ReadonlySet<string>;
  /** Whether it is part of what a person or model says, and so are the elements of it as an array. */
  readonly isSpoken: boolean;
}

/** The rest of a value that is being walked: its remaining members or elements. */
interface Walk extends Reading {
  readonly names: readonly string[] | null;
  readonly values: readonly JsonValue[];
  readonly repeats?: ReadonlySet<number> | undefined;
  next: number;
}

/** Makes a {@link TextCollector}. */
export function textCollector(options: TextCollectorOptions): TextCollector {
  const { scope, skipped, names, counted } = options;
  const said = new Map<number, string[]>();
  const others = new Map<number, string[]>();
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
  const put = (into: Map<number, string[]>, place: Place, text: string): void => {
    const number = numberOf(place);
    const pieces = into.get(number);
    if (pieces === undefined) into.set(number, [text]);
    else pieces.push(text);
  };
  /** Takes a text, and puts what has members or elements to what is still open. */
  const visit = function* (value: JsonValue, at: Reading, open: Walk[]): Slices<void> {
    if (typeof value === "string") {
      if (at.isSpoken) put(said, at.place, value);
      else if (!(yield* isBlob(value, counted))) put(others, at.place, value);
    } else if (typeof value === "object" && value !== null) {
      if ("digits" in value) put(others, at.place, `${value.digits}\n`);
      else {
        const shape = "names" in value ? value : { names: null, values: value };
        open.push({ ...shape, ...at, next: 0 });
      }
    }
  };
  return {
    add: (text) => put(said, root, text),
    *collect(message) {
      const open: Walk[] = [];
      const own = discriminatorOf(message);
      const place = own === "" ? root : within(root, own);
      yield* visit(spokenPart(message, scope), { place, skipped, isSpoken: false }, open);
      for (let walk = open.at(-1); walk !== undefined; walk = open.at(-1)) {
        if (isDue(counted, STEP)) yield;
        const index = walk.next++;
        const value = walk.values[index];
        if (value === undefined) {
          open.pop();
          continue;
        }
        const name = walk.names?.[index];
        if (name !== undefined && names && !plainName.test(name))
          put(others, within(walk.place, ""), `${name}\n`);
        if (name === undefined) yield* visit(value, element(value, index, walk), open);
        else if (!walk.skipped.has(name)) yield* visit(value, member(name, index, walk), open);
      }
    },
    text: () => linesOf([...said.values(), ...others.values()], counted),
  };
}

/** Returns how an element of an array is read. */
function element(value: JsonValue, index: number, { place, skipped, isSpoken }: Walk): Reading {
  const at = within(place, `[${discriminatorOf(value) || index}]`);
  return { place: at, skipped, isSpoken };
}

/** Returns how a member of an object is read. */
function member(name: string, index: number, { place, skipped, repeats }: Walk): Reading {
  // Members of the same name get places of their own: one must not continue the text of the other.
  const at = within(place, repeats?.has(index) === true ? `${name} ${index}` : name);
  return {
    place: at,
    skipped: free.has(name) ? opaque : skipped,
    isSpoken: spoken.has(name),
  };
}

/** Returns the texts of pieces, each on lines of its own. */
function* linesOf(texts: readonly (readonly string[])[], counted: WorkMeter): Slices<string> {
  const blocks: string[] = [];
  let block: string[] = [];
  for (const pieces of texts) {
    block.push(yield* joined(pieces, counted));
    if (!isDue(counted, STEP)) continue;
    blocks.push(block.join("\n"));
    block = [];
    yield;
  }
  return (block.length === 0 ? blocks : [...blocks, block.join("\n")]).join("\n");
}

/** Pieces that are joined in one go. */
const PIECES = 4096;

function* joined(pieces: readonly string[], counted: WorkMeter): Slices<string> {
  if (pieces.length <= PIECES) return pieces.join("");
  const blocks: string[] = [];
  for (let at = 0; at < pieces.length; at += PIECES) {
    blocks.push(pieces.slice(at, at + PIECES).join(""));
    if (isDue(counted, PIECES * STEP)) yield;
  }
  return blocks.join("");
}

function within(place: Place, name: string): Place {
  return { within: place, name };
}

/**
 * Returns the conversation's part of a message in a known format. A message in an unknown one is returned whole: better
 * too much than nothing.
 */
function spokenPart(message: JsonValue, scope: Scope): JsonValue {
  if (scope === "all" || !isObject(message) || !("names" in message)) return message;
  const known = [...message.names.keys()].filter((at) => spoken.has(message.names[at] ?? ""));
  if (known.length === 0) return message;
  return {
    names: known.map((at) => message.names[at] ?? ""),
    values: known.map((at) => message.values[at] ?? null),
  };
}

function discriminatorOf(value: JsonValue): string {
  if (!isObject(value) || !("names" in value)) return "";
  const found: string[] = [];
  for (const key of discriminators) {
    const at = value.names.lastIndexOf(key);
    if (at !== -1) found.push(`${key}=${textOfLeaf(value.values[at])}`);
  }
  return found.join("&");
}

function textOfLeaf(value: JsonValue | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function isObject(
  value: JsonValue,
): value is Exclude<JsonValue, string | number | null | readonly JsonValue[]> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a string is base64 data, whole or as a URL. A string that only begins like it is text. */
function* isBlob(text: string, counted: WorkMeter): Slices<boolean> {
  if (text.length < BLOB) return false;
  const start = /^data:[\w.+/;=-]{1,100},/.exec(text)?.[0].length ?? 0;
  const end = text.length - (/={1,2}$/.exec(text.slice(-2))?.[0].length ?? 0);
  for (let at = start; at < end; at += SLICE) {
    if (!/^[A-Za-z0-9+/_-]+$/.test(text.slice(at, Math.min(at + SLICE, end)))) return false;
    if (isDue(counted, SLICE)) yield;
  }
  return true;
}
