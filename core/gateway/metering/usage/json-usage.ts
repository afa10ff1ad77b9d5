import { type AddUsage, addUsage } from "../../providers/usage.ts";
import { boundedJson } from "../../../http/json.ts";
import {
  type JsonToken,
  jsonReader,
  nextToken,
  skipContainer,
} from "../../../http/json/json-reader.ts";
import { noUsage, type TokenUsage } from "../../chat/usage.ts";

/** Characters behind the usage that are looked at: service tier, fingerprint, response id. */
const END_LIMIT = 1024;
/** Characters of a usage report that are looked for its end; a longer one is read with the whole answer. */
const USAGE_LIMIT = 16 * 1024;

/**
 * Reads the usage of a JSON answer, by its family; none when it is not JSON. `isReadWhole` has it parsed as a whole, for
 * the members beside its usage.
 */
export function jsonUsage(
  text: string,
  add: AddUsage = addUsage,
  isReadWhole: boolean = false,
): TokenUsage {
  const at = text.lastIndexOf('"usage');
  if (at === -1) return usageElsewhere(text, add);
  if (/^\s*\[/.test(text)) return listUsage(text, add);
  const last = isReadWhole || namesTier(text, at) ? null : lastMember(text, at, '"usage');
  return usageIn(last ?? text, noUsage, add);
}

/**
 * Whether an answer may name its tier before the usage: OpenAI's responses do, with the request's instructions and tools
 * between them. Behind it, the tier is read with it.
 */
function namesTier(text: string, at: number): boolean {
  const found = text.indexOf('"service_tier"');
  return found !== -1 && found < at;
}

/** The members in which Cohere's first API and its embeddings, and Replicate, report usage, and a name in each. */
const elsewhere: readonly (readonly [member: string, figure: string])[] = [
  ['"meta"', '"billed_units"'],
  ['"metrics"', '"input_token_count"'],
];

function usageElsewhere(text: string, add: AddUsage): TokenUsage {
  const found = elsewhere.find(([, figure]) => text.includes(figure));
  if (found === undefined) return noUsage;
  const [member] = found;
  const last = lastMember(text, text.lastIndexOf(member), member);
  if (last !== null) return usageIn(last, noUsage, add);
  const whole = usageIn(text, noUsage, add);
  // Cohere streams JSON line by line; the last one tells.
  const line = text.trimEnd().lastIndexOf("\n") + 1;
  return whole !== noUsage || line === 0 ? whole : usageIn(text.slice(line), noUsage, add);
}

/** Reads the usage of a list of answers, as far as it has come: Gemini streams so to clients that do not ask for events. */
function listUsage(text: string, add: AddUsage): TokenUsage {
  let usage = noUsage;
  const reader = jsonReader(text);
  nextToken(reader);
  while (nextToken(reader) === "{") {
    const { start } = reader;
    if (!skipContainer(reader)) break;
    const answer = text.slice(start, reader.at);
    if (answer.includes('"usageMetadata"')) usage = usageIn(answer, usage, add);
  }
  return usage;
}

/** Only what stands at the end is found in a long list of numbers: all of it would take too long to parse. */
function usageIn(json: string, usage: TokenUsage, add: AddUsage): TokenUsage {
  const value = boundedJson(json);
  return value === undefined ? usage : add(usage, value);
}

/**
 * The member at `at` and those behind it as an object of their own, when it is one of the whole answer's last, behind which
 * only plain values come. Providers put usage there, and parsing a million numbers of an embedding for it would hold up every other request.
 * A quote inside a JSON string has a backslash before it, so `at` begins a string.
 */
function lastMember(text: string, at: number, mention: string): string | null {
  // A mention this far from the end is not among the last members: do not scan what is then parsed as well.
  if (text.length - at > USAGE_LIMIT + END_LIMIT) return null;
  // With two mentions, only the whole answer shows which one counts. Searches forward: engines do many bytes at a time.
  if (text.indexOf(mention) !== at) return null;
  const reader = jsonReader(text, at, { inObject: true });
  if (nextToken(reader) !== "name" || !REPORTS.has(text.slice(at, reader.at))) return null;
  if (nextToken(reader) !== "{" || !skipContainer(reader)) return null;
  const end = reader.at;
  if (text.length - end > END_LIMIT) return null;
  let token = nextToken(reader);
  while (PLAIN.has(token)) token = nextToken(reader);
  return token === "}" && nextToken(reader) === "end" ? `{${text.slice(at)}` : null;
}

/** The members that report, as they are written. */
const REPORTS: ReadonlySet<string> = new Set(['"usage"', '"usageMetadata"', '"meta"', '"metrics"']);
/** Members with plain values: what may follow a report. */
const PLAIN: ReadonlySet<JsonToken> = new Set(["name", "string", "number", "word"]);
