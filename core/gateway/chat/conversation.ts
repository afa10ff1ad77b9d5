import { type ChatFormat, conversationOf } from "./chat-body.ts";
import { BYTES_PER_TOKEN } from "./usage.ts";
import {
  type Json,
  jsonCount,
  jsonObject,
  jsonObjects,
  jsonText,
  ownMember,
} from "../../http/json.ts";
import { quickSha256Hex } from "../../crypto/digest.ts";
import type { System } from "../../ports.ts";

/** The requirements of a request on a model. */
export interface Needs {
  readonly abilities: readonly Ability[];
  readonly inputTokens: number;
  /** Most tokens of an answer that the request asks for; null when it does not say. */
  readonly outputTokens: number | null;
  /** Input, and the output that is asked for. */
  readonly contextTokens: number;
  /** Whether a user says anything in words. */
  readonly hasText: boolean;
}

/** Tokens of one image, sound or file, about. */
const MEDIA_TOKENS = 1000;

/** How deep content is looked into: a block in the content of a tool's result is the deepest that formats know. */
const DEPTH = 8;

/** The types of parts, in the three formats, that are media instead of text. */
const media: Readonly<Record<string, Ability>> = {
  image_url: "images",
  input_image: "images",
  image: "images",
  input_audio: "audio",
  audio: "audio",
  file: "files",
  input_file: "files",
  document: "files",
};

/** Parts of content with a user's words. */
const texts: ReadonlySet<string> = new Set(["text", "input_text"]);

interface ConversationScan {
  readonly abilities: Set<Ability>;
  mediaCount: number;
  mediaLength: number;
}

/** Reads what a request of `size` bytes needs. Nothing is checked: a provider says what is wrong with a request. */
export function needsOf(body: Json, format: ChatFormat, size: number): Needs {
  const found: ConversationScan = { abilities: new Set(), mediaCount: 0, mediaLength: 0 };
  const conversation = conversationOf(body, format);
  look(conversation, found, 0);
  if (hasEntries(body["tools"]) || hasEntries(body["functions"])) found.abilities.add("tools");
  if (wantsJson(body)) found.abilities.add("json");
  const text = Math.max(0, size - found.mediaLength);
  const inputTokens = Math.ceil(text / BYTES_PER_TOKEN) + found.mediaCount * MEDIA_TOKENS;
  const limit = [body["max_completion_tokens"], body["max_output_tokens"], body["max_tokens"]]
    .map(jsonCount)
    .find((count) => count > 0);
  return {
    abilities: abilities.filter((ability) => found.abilities.has(ability)),
    inputTokens,
    outputTokens: limit ?? null,
    contextTokens: inputTokens + (limit ?? 0),
    hasText:
      typeof conversation === "string"
        ? conversation.trim() !== ""
        : jsonObjects(conversation).some(({ role, content }) => role === "user" && speaks(content)),
  };
}

function look(value: unknown, found: ConversationScan, depth: number): void {
  if (typeof value !== "object" || value === null || depth > DEPTH) return;
  const { type } = value as Json;
  const ability = ownMember(media, jsonText(type));
  if (ability !== undefined) {
    found.abilities.add(ability);
    found.mediaCount++;
    found.mediaLength += lengthOf(value, depth);
    return;
  }
  for (const inner of Object.values(value)) look(inner, found, depth + 1);
}

/** Counts the characters of all texts within. */
function lengthOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > DEPTH) return 0;
  let length = 0;
  for (const inner of Object.values(value)) length += lengthOf(inner, depth + 1);
  return length;
}

function hasEntries(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

/** `response_format` of chats, `text.format` of responses, `output_config.format` of messages. */
function wantsJson(body: Json): boolean {
  const formats = [
    body["response_format"],
    jsonObject(body["text"])["format"],
    jsonObject(body["output_config"])["format"],
    body["output_format"],
  ];
  return formats.some((format) =>
    /^json_(?:object|schema)$/.test(String(jsonObject(format)["type"])),
  );
}

function speaks(content: unknown): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return jsonObjects(content).some(
    ({ type, text }) => texts.has(String(type)) && typeof text === "string" && text.trim() !== "",
  );
}

/** The abilities beyond text that a request can need of a model. */
export const abilities: readonly ["tools", "images", "audio", "files", "json"] = [
  "tools",
  "images",
  "audio",
  "files",
  "json",
];

/** One of {@link abilities}; `json` is an answer of a given form. */
export type Ability = (typeof abilities)[number];

/**
 * Returns which turn of its conversation a request belongs to: a turn is a user's message and everything up to the next
 * one, such as tool calls with their results. Null when the request holds no user's message, so that it goes on with a
 * turn.
 */
export async function turnOf(
  body: Json,
  format: ChatFormat,
  system: Pick<System, "sha256Hex">,
): Promise<string | null> {
  const conversation = conversationOf(body, format);
  const said = typeof conversation === "string" ? [conversation] : userMessages(conversation);
  if (said.length === 0) return null;
  // The number alone would stand still where a client sends only the newest messages.
  return `${said.length}/${await quickSha256Hex(JSON.stringify(said.at(-1) ?? null), system)}`;
}

/** Returns the messages of users; in Anthropic's format the results of tools are sent under their name. */
function userMessages(conversation: unknown): unknown[] {
  return jsonObjects(conversation)
    .filter(({ role, content }) => role === "user" && !isToolResult(content))
    .map(({ content }) => content);
}

function isToolResult(content: unknown): boolean {
  return jsonObjects(content).some(({ type }) => type === "tool_result");
}
