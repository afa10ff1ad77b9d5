import { asObject, type Json } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";
import { parseJson, parseJsonInSteps } from "../../http/fields/body.ts";
import { PARSED_AT_ONCE } from "../../http/json/json-steps.ts";
import { jsonInSteps } from "../../http/json/long-json.ts";
import type { System } from "../../ports.ts";
import {
  type BodyReading,
  jsonBody,
  type ReadableRequest,
  strictValue,
} from "../wire/readable-body.ts";

/** The formats in which models of every provider are asked. */
export const chatFormats: readonly ["chat/completions", "responses", "messages"] = [
  "chat/completions",
  "responses",
  "messages",
];

/** The path on which clients ask for the tokens of a message before they send it (Anthropic, "Count Message tokens"). */
export const COUNT_TOKENS = "messages/count_tokens";

/** One of {@link chatFormats}. */
export type ChatFormat = (typeof chatFormats)[number];

/** Parses a chat request; throws `chat_format` for anything but a JSON object. */
export function parseChat(body: Uint8Array): Json {
  return chatObject(parseJson(body, "chat_format"));
}

/** Does {@link parseChat}, once for all readers of a request. */
export function readChatBody(request: ReadableRequest): Json {
  return chatObject(strictValue(request, parseChat));
}

/** Does {@link readChatBody}, and lets others go on while it reads a long one. */
export async function readChatInSteps(
  request: ReadableRequest,
  system: Pick<System, "sleep">,
): Promise<Json> {
  const { body, reading } = request;
  const isKnown = reading?.bytes === body && reading.value !== null;
  if (!isLongBody(body) || isKnown) return readChatBody(request);
  return chatObject(await parseJsonInSteps(body, system, "chat_format"));
}

/** Writes the request that takes the place of another one, and lets others go on while it writes a long one. */
export async function writeChat(
  chat: object,
  instead: ReadableRequest["body"],
  system: Pick<System, "sleep">,
): Promise<{ body: Uint8Array; reading: BodyReading }> {
  if (!isLongBody(instead)) return jsonBody(chat);
  const body = await jsonInSteps(chat, system);
  return { body, reading: { bytes: null, text: null, value: null } };
}

/** Whether a body is read and written in steps. */
export function isLongBody(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
): body is Uint8Array {
  return body instanceof Uint8Array && body.length > PARSED_AT_ONCE;
}

/** Returns a value as the object of a chat request; throws `chat_format` for any other. */
export function chatObject(given: unknown): Json {
  const value = asObject(given);
  if (value !== null) return value;
  throw new ApiError("chat_format", {
    message: "Chat completion bad format: a JSON object of at most 10 MB is needed",
  });
}

/** Returns the model that a chat request names, unchanged; empty without one. */
export function modelOfChat({ model }: Json): string {
  return typeof model === "string" ? model : "";
}

/** Returns the model that a request has to name; throws `chat_format` without one, which says the form that is wanted. */
export function namedModel({ model }: Json, form: string): string {
  if (typeof model === "string" && model !== "") return model;
  const wanted = `write "${form}", such as "openai/gpt-5.5"`;
  const why =
    model === undefined
      ? `Missing field "model": ${wanted}`
      : `model: ${wanted}, got ${JSON.stringify(model).slice(0, 64)}`;
  throw new ApiError("chat_format", { message: `Chat completion bad format: ${why}` });
}

/** Whether a chat request asks for its answer as a stream. */
export function asksForStream({ stream }: Json): boolean {
  return stream === true;
}

/** Returns the messages of a chat request, or the one text in place of them. */
export function conversationOf(body: Json, format: ChatFormat): unknown {
  return body[format === "responses" ? "input" : "messages"];
}

/**
 * Returns the member that holds the conversation of a request to this address of a provider; null for requests other than
 * chats.
 */
export function conversationMember(url: string): "messages" | "input" | "contents" | null {
  const [path = ""] = url.split("?", 1);
  if (path.endsWith("/responses")) return "input";
  if (/:(?:streamG|g)enerateContent$/u.test(path)) return "contents";
  return /(?:[/:]chat\/completions|\/messages)$|\/run\/@/u.test(path) ? "messages" : null;
}
