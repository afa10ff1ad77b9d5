import { type Json, parsedObject } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";
import type { TokenUsage } from "./usage.ts";

type Maybe<T> = T | null | undefined;

/** An element that may carry a mark up to which the provider is to cache the prompt (`cache-mark.ts`). */
export interface Markable {
  cache_control?: unknown;
}

export type ChatPart = Markable &
  (
    | { type: "text"; text: string }
    | { type: "image_url"; image_url: { url: string } }
    | { type: "input_audio"; input_audio: { data: string; format: string } }
    | {
        type: "file";
        file: { file_data?: Maybe<string>; file_id?: Maybe<string>; filename?: Maybe<string> };
      }
    | { type: "refusal"; refusal: string }
  );

export type ChatContent = Maybe<string | ChatPart[]>;

/** Gemini's own data of a tool call. */
export type ExtraContent = { google?: Maybe<{ thought_signature?: Maybe<string> }> };

export interface ChatCall extends Markable {
  id: string;
  function: { name: string; arguments: string };
  extra_content?: Maybe<ExtraContent>;
}

export interface ThoughtPlace {
  /** Characters of the text in front of it. */
  readonly text: number;
  /** Tool calls in front of it. */
  readonly calls: number;
}

/** A thought of the model; only one with a signature, or one that is hidden, can go back to its provider. */
export interface ChatReasoning {
  text: string;
  signature?: string;
  /** The encrypted thought, in place of its text. */
  hidden?: string;
  /** Its place in the message. @default in front of everything */
  after?: ThoughtPlace;
}

export interface AssistantMessage extends Markable {
  role: "assistant";
  content?: ChatContent;
  tool_calls?: Maybe<ChatCall[]>;
  reasoning?: ChatReasoning[];
}

export interface ToolMessage extends Markable {
  role: "tool";
  content?: ChatContent;
  tool_call_id: string;
  failed?: boolean;
}

/** One message of a {@link Chat}. */
export type ChatMessage =
  | (Markable & { role: "system" | "developer"; content?: ChatContent })
  | (Markable & { role: "user"; content?: ChatContent })
  | AssistantMessage
  | ToolMessage;

/** A function that a model may call. */
export interface ChatTool extends Markable {
  type: "function";
  function: Markable & {
    name: string;
    description?: Maybe<string>;
    parameters?: Maybe<Record<string, unknown>>;
    strict?: Maybe<boolean>;
  };
}

/** Which tools a model may or must call. */
export type ChatToolChoice =
  | "none"
  | "auto"
  | "required"
  | { type: "function"; function: { name: string } };

export interface ChatResponseFormat {
  type: "text" | "json_object" | "json_schema";
  json_schema?: Maybe<{
    name?: Maybe<string>;
    strict?: Maybe<boolean>;
    schema?: Maybe<Record<string, unknown>>;
  }>;
}

/** A request to a chat model as far as it can be translated: OpenAI's chat format, and what others add to it. */
export interface Chat extends Markable {
  model: string;
  messages: ChatMessage[];
  stream?: Maybe<boolean>;
  stream_options?: Maybe<{ include_usage?: Maybe<boolean> }>;
  max_tokens?: Maybe<number>;
  max_completion_tokens?: Maybe<number>;
  temperature?: Maybe<number>;
  top_p?: Maybe<number>;
  top_k?: Maybe<number>;
  presence_penalty?: Maybe<number>;
  frequency_penalty?: Maybe<number>;
  stop?: Maybe<string | string[]>;
  tools?: Maybe<ChatTool[]>;
  tool_choice?: Maybe<ChatToolChoice>;
  parallel_tool_calls?: Maybe<boolean>;
  response_format?: Maybe<ChatResponseFormat>;
  seed?: Maybe<number>;
  /** `none`, `minimal`, `low`, `medium`, `high` and whatever else a provider has. */
  reasoning_effort?: Maybe<string>;
  /** Tokens that the model may think. */
  thinking_budget?: Maybe<number>;
  /** The type of Anthropic's thinking that turns it off. */
  thinking_off?: Maybe<string>;
  /** Whether the client wants to see the model's thoughts. */
  shows_thoughts?: boolean;
  /** Members of the client's request that no other provider has, and that a model can do without. */
  left_out?: readonly string[];
}

/** Makes the error for something that the provider's format has no place for. */
export function cannot(what: string): ApiError {
  return new ApiError("chat_format", {
    message: `"${what.slice(0, 128)}" cannot be translated for this provider`,
  });
}

/** Makes the error for a tool that a provider runs itself, such as a web search, for a provider that has none like it. */
export function cannotRun(tool: string): ApiError {
  return new ApiError("chat_format", {
    message: `tools: "${tool.slice(0, 64)}" is a tool of another provider and cannot be translated: leave it out`,
  });
}

/**
 * Names the members among `keys` that a request has: they manage what the provider keeps of a conversation, so an answer
 * is the same without them until the conversation is too long.
 */
export function leftOut(
  given: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): string[] {
  return keys.filter((key) => given[key] !== undefined && given[key] !== null);
}

/** Refuses members of a request whose effect the other format cannot express. */
export function refuseChat(
  given: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): void {
  for (const key of keys) {
    const value = given[key];
    if (value === undefined || value === null || value === false || value === 0) continue;
    if (typeof value === "object" && Object.keys(value).length === 0) continue;
    throw cannot(key);
  }
}

/** Returns the text of a message's content; images and the like are refused. */
export function textContent(value: ChatContent): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  return value
    .map((one) => {
      if (one.type === "text") return one.text;
      if (one.type === "refusal") return one.refusal;
      throw cannot(`${one.type} outside of a user message`);
    })
    .join("");
}

/** Returns the texts of all system and developer messages; every provider but OpenAI has one place for them. */
export function systemText(messages: readonly ChatMessage[]): string {
  return messages
    .filter(({ role }) => role === "system" || role === "developer")
    .map(({ content }) => textContent(content))
    .join("\n\n");
}

/** Whether a text holds no word. Anthropic refuses one: https://github.com/anthropics/claude-code/issues/62396. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Returns the content of a message as parts without blank texts. */
export function contentParts(content: ChatContent): ChatPart[] {
  const parts: ChatPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  return parts.filter((part) => part.type !== "text" || !isBlank(part.text));
}

/** Media type and base64 data of a `data:` URL; null for any other URL. */
export function dataUrl(url: string): { mediaType: string; data: string } | null {
  const match = /^data:([\w.+/-]+);base64,/.exec(url);
  return match === null ? null : { mediaType: match[1] ?? "", data: url.slice(match[0].length) };
}

/** Returns a model's name as a part of a URL's path, slashes kept. A lone surrogate, which no URL can hold, is replaced. */
export function modelPath(model: string): string {
  const segments = model.toWellFormed().split("/");
  return segments.map(encodeURIComponent).join("/").replaceAll("%40", "@");
}

/** Returns how hard to think, for providers that take no number of tokens: the nearest of OpenAI's efforts. */
export function effortOf({
  reasoning_effort: effort,
  thinking_budget: budget,
}: Pick<Chat, "reasoning_effort" | "thinking_budget">): string | null {
  if (effort != null || budget == null) return effort ?? null;
  return budget < 2048 ? "low" : budget < 8192 ? "medium" : "high";
}

/**
 * Returns the parsed arguments of a tool call. Those that a model wrote wrong stay as a text: they are in the conversation
 * for ever, so a refusal would end it.
 */
export function toolArguments(text: string): Json {
  return isBlank(text) ? {} : (parsedObject(text) ?? { arguments: text });
}

/** Token counts in OpenAI's form. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: {
    readonly cached_tokens: number;
    /** Tokens that were written to the provider's cache. */
    readonly cache_write_tokens?: number;
    /** Tokens of sound. */
    readonly audio_tokens?: number;
  };
  readonly completion_tokens_details?: { readonly reasoning_tokens: number };
}

/** Returns usage in OpenAI's form; what is not known is nothing. */
export function chatUsage(usage: TokenUsage): ChatUsage {
  const { tokensIn, tokensOut, cachedIn, cacheWriteIn, reasoningOut, kinds } = usage;
  const [prompt, completion] = [tokensIn ?? 0, tokensOut ?? 0];
  const audio = kinds?.audio?.in ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: cachedIn,
      ...(cacheWriteIn === 0 ? {} : { cache_write_tokens: cacheWriteIn }),
      ...(audio === 0 ? {} : { audio_tokens: audio }),
    },
    ...(reasoningOut === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningOut } }),
  };
}
