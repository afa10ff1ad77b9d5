import { asObject, parsedObject } from "../../http/json.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { OutboundRequest } from "../../ports.ts";
import { conversationMember } from "../chat/chat-body.ts";

/** A chat request, taken apart into the text that is compared and all the rest, which must be the same. */
export interface ComparedQuestion {
  /** The last message of the user. */
  readonly text: string;
  /** The bytes of the body with a gap in place of the text. */
  readonly rest: Uint8Array;
}

/** Limits above which a question is not compared. */
export interface QuestionLimits {
  /** Characters of the text. */
  readonly maxTextLength: number;
  /** Messages of the conversation. */
  readonly maxMessages: number;
}

/** Bytes of a body that are looked at. */
const BODY_LIMIT = 128 * 1024;
/** No JSON text holds this character unescaped, so that the gap cannot be forged. */
const GAP = "\u0000";

/** Members that make a request more than a plain conversation: it is answered by exact repetition only. */
const NOT_PLAIN = (
  "tools functions tool_choice function_call toolConfig tool_config mcp_servers container previous_response_id " +
  "conversation background prompt web_search_options audio image images files documents attachments"
).split(" ");

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "model"]);
const TEXT_TYPES: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);
const MESSAGE_KEYS: ReadonlySet<string> = new Set(
  "role content parts name type id status refusal".split(" "),
);
const PART_KEYS: ReadonlySet<string> = new Set(["type", "text", "cache_control", "annotations"]);

/**
 * Returns the question of a request in one of the formats of chats (chat completions, messages, responses,
 * `generateContent`, Workers AI); null for any other request. A request that is too long, or has tools, images or files,
 * has no question either.
 */
export function questionOf(
  { method, url, body }: OutboundRequest,
  limits: QuestionLimits,
): ComparedQuestion | null {
  if (method !== "POST" || !(body instanceof Uint8Array) || body.length > BODY_LIMIT) return null;
  const member = conversationMember(url);
  const json = member === null ? null : decoded(body);
  const parsed = json === null ? null : parsedObject(json);
  if (member === null || json === null || parsed === null) return null;
  if (NOT_PLAIN.some((key) => Object.hasOwn(parsed, key))) return null;
  const text = lastText(parsed[member], limits.maxMessages);
  if (text === null || text.length > limits.maxTextLength) return null;
  const rest = without(json, text);
  return rest === null ? null : { text, rest: utf8(rest) };
}

function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Returns the text of the last message, if the user said it and the conversation is nothing but text. */
function lastText(conversation: unknown, maxMessages: number): string | null {
  if (typeof conversation === "string") return conversation;
  if (!Array.isArray(conversation) || conversation.length > maxMessages) return null;
  let last: { readonly role: unknown; readonly texts: readonly string[] } | null = null;
  for (const one of conversation) {
    const message = asObject(one);
    const texts = message === null ? null : textsOf(message);
    if (message === null || texts === null) return null;
    last = { role: message["role"] ?? "user", texts };
  }
  const [text, ...others] = last?.texts ?? [];
  return last?.role === "user" && others.length === 0 ? (text ?? null) : null;
}

/** Returns the texts of a message; null when it is more than text. */
function textsOf(message: Record<string, unknown>): string[] | null {
  const { role = "user", content = message["parts"] } = message as {
    role?: unknown;
    content?: unknown;
  };
  if (!ROLES.has(role) || Object.keys(message).some((key) => !MESSAGE_KEYS.has(key))) return null;
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return null;
  const texts: string[] = [];
  for (const one of content) {
    const part = asObject(one);
    if (part === null || Object.keys(part).some((key) => !PART_KEYS.has(key))) return null;
    const { type = "text", text } = part as { type?: unknown; text?: unknown };
    if (!TEXT_TYPES.has(type) || typeof text !== "string") return null;
    texts.push(text);
  }
  return texts;
}

/**
 * Returns the JSON text around the one place where `text` stands. The raw text is cut, since a parsed value might be
 * written differently. So two requests with the same rest differ in that one string only, whatever a provider makes of
 * doubled keys.
 */
function without(json: string, text: string): string | null {
  const plain = JSON.stringify(text);
  // Python's `json` escapes whatever is not ASCII.
  const ascii = plain.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  for (const written of new Set([plain, ascii])) {
    const at = json.indexOf(written);
    if (at === -1) continue;
    if (json.includes(written, at + 1)) return null;
    return json.slice(0, at) + GAP + json.slice(at + written.length);
  }
  return null;
}
