import * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import { parse, parseJson } from "../http/body.ts";

const part = v.variant("type", [
  v.looseObject({ type: v.literal("text"), text: v.string() }),
  v.looseObject({ type: v.literal("image_url"), image_url: v.looseObject({ url: v.string() }) }),
  v.looseObject({ type: v.literal("refusal"), refusal: v.string() }),
]);
const content = v.nullish(v.union([v.string(), v.array(part)]));
const toolCall = v.looseObject({
  id: v.string(),
  type: v.optional(v.literal("function")),
  function: v.looseObject({ name: v.string(), arguments: v.string() }),
  extra_content: v.nullish(
    v.looseObject({
      google: v.nullish(v.looseObject({ thought_signature: v.nullish(v.string()) })),
    }),
  ),
});
const message = v.variant("role", [
  v.looseObject({ role: v.picklist(["system", "developer"]), content }),
  v.looseObject({ role: v.literal("user"), content }),
  v.looseObject({
    role: v.literal("assistant"),
    content,
    tool_calls: v.nullish(v.array(toolCall)),
  }),
  v.looseObject({ role: v.literal("tool"), content, tool_call_id: v.string() }),
]);
const tool = v.looseObject({
  type: v.literal("function"),
  function: v.looseObject({
    name: v.string(),
    description: v.nullish(v.string()),
    parameters: v.nullish(v.record(v.string(), v.unknown())),
  }),
});
const toolChoice = v.union([
  v.picklist(["none", "auto", "required"]),
  v.looseObject({ type: v.literal("function"), function: v.looseObject({ name: v.string() }) }),
]);

const chatSchema = v.looseObject({
  model: v.pipe(v.string(), v.minLength(1)),
  messages: v.pipe(v.array(message), v.minLength(1)),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.looseObject({ include_usage: v.nullish(v.boolean()) })),
  max_tokens: v.nullish(v.number()),
  max_completion_tokens: v.nullish(v.number()),
  temperature: v.nullish(v.number()),
  top_p: v.nullish(v.number()),
  stop: v.nullish(v.union([v.string(), v.array(v.string())])),
  tools: v.nullish(v.array(tool)),
  tool_choice: v.nullish(toolChoice),
  parallel_tool_calls: v.nullish(v.boolean()),
  response_format: v.nullish(
    v.looseObject({
      type: v.picklist(["text", "json_object", "json_schema"]),
      json_schema: v.nullish(
        v.looseObject({ schema: v.nullish(v.record(v.string(), v.unknown())) }),
      ),
    }),
  ),
  seed: v.nullish(v.number()),
  n: v.nullish(v.number()),
});

type Maybe<T> = T | null | undefined;

/** One part of a message's content. */
export type ChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "refusal"; refusal: string };

/** What a message says. */
export type ChatContent = Maybe<string | ChatPart[]>;

/** A tool call of an assistant's message. */
export interface ChatCall {
  id: string;
  function: { name: string; arguments: string };
  extra_content?: Maybe<{ google?: Maybe<{ thought_signature?: Maybe<string> }> }>;
}

/** One message of a {@link Chat}. */
export type ChatMessage =
  | { role: "system" | "developer"; content?: ChatContent }
  | { role: "user"; content?: ChatContent }
  | { role: "assistant"; content?: ChatContent; tool_calls?: Maybe<ChatCall[]> }
  | { role: "tool"; content?: ChatContent; tool_call_id: string };

/** A function that a model may call. */
export interface ChatTool {
  type: "function";
  function: {
    name: string;
    description?: Maybe<string>;
    parameters?: Maybe<Record<string, unknown>>;
  };
}

/** An OpenAI chat request as far as it can be translated. */
export interface Chat {
  model: string;
  messages: ChatMessage[];
  stream?: Maybe<boolean>;
  stream_options?: Maybe<{ include_usage?: Maybe<boolean> }>;
  max_tokens?: Maybe<number>;
  max_completion_tokens?: Maybe<number>;
  temperature?: Maybe<number>;
  top_p?: Maybe<number>;
  stop?: Maybe<string | string[]>;
  tools?: Maybe<ChatTool[]>;
  tool_choice?: Maybe<
    "none" | "auto" | "required" | { type: "function"; function: { name: string } }
  >;
  parallel_tool_calls?: Maybe<boolean>;
  response_format?: Maybe<{
    type: "text" | "json_object" | "json_schema";
    json_schema?: Maybe<{ schema?: Maybe<Record<string, unknown>> }>;
  }>;
  seed?: Maybe<number>;
  n?: Maybe<number>;
  [other: string]: unknown;
}

/** Members whose effect no other provider's format can express. */
const untranslatable = [
  "audio",
  "functions",
  "function_call",
  "logprobs",
  "logit_bias",
  "prediction",
  "web_search_options",
];

/** Reads an OpenAI chat request that is to be translated; what cannot be is a 400 that names it. */
export function parseChat(body: Uint8Array | ReadableStream<Uint8Array> | null): Chat {
  if (!(body instanceof Uint8Array))
    throw new ApiError("chat_format", { message: "A JSON body of at most 10 MB is needed" });
  const chat = checked(body);
  for (const key of untranslatable) {
    const value = chat[key];
    if (value !== undefined && value !== null && value !== false) throw cannot(key);
  }
  if ((chat.n ?? 1) !== 1) throw cannot("n above 1");
  return chat;
}

function checked(body: Uint8Array): Chat {
  return parse(chatSchema, parseJson(body, "chat_format"), "chat_format");
}

/** The error for something that the provider's format has no place for. */
export function cannot(what: string): ApiError {
  return new ApiError("chat_format", {
    message: `"${what}" cannot be translated for this provider`,
  });
}

/** The text of a message's content; images and the like are refused. */
export function textContent(value: ChatContent): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  return value
    .map((one) => {
      if (one.type === "text") return one.text;
      if (one.type === "refusal") return one.refusal;
      throw cannot("an image outside of a user message");
    })
    .join("");
}

/** Media type and base64 data of a `data:` URL; null for any other URL. */
export function dataUrl(url: string): { mediaType: string; data: string } | null {
  const match = /^data:([\w.+/-]+);base64,/.exec(url);
  return match === null ? null : { mediaType: match[1] ?? "", data: url.slice(match[0].length) };
}

/** The parsed arguments of a tool call. */
export function toolArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new ApiError("chat_format", { message: "tool_calls: the arguments are not a JSON object" });
}

/** Token counts in OpenAI's form. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

/** Token counts in OpenAI's form. */
export function chatUsage(
  prompt: number,
  completion: number,
  cached: number,
  reasoning?: number,
): ChatUsage {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}
