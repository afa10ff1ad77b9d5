import { appendAll } from "../../../text/append-all.ts";
import { fromBase64 } from "../../../crypto/encoding.ts";
import { cacheMark, isMarked, lastMark, markedBlocks } from "../../chat/cache-mark.ts";
import {
  cannot,
  type Chat,
  type ChatContent,
  type ChatMessage,
  type ChatPart,
  type ChatReasoning,
  contentParts,
  dataUrl,
  isBlank,
  systemText,
  textContent,
  toolArguments,
} from "../../chat/chat-format.ts";
import { type Json, jsonText } from "../../../http/json.ts";
import { withUserTurn } from "../../models/mend-chat.ts";
import { anthropicReply, anthropicStream } from "./anthropic-reply.ts";
import { outputSchema } from "./output-schema.ts";
import type { ChatTranslator } from "../../chat/reply.ts";
import { orderedPieces } from "../../chat/thought-place.ts";

/** Anthropic requires a limit; this one fits every current model. */
const DEFAULT_MAX_TOKENS = 4096;
/** The smallest budget of thinking tokens that a model takes (Anthropic, extended thinking). */
const LEAST_BUDGET = 1024;
const VERSION = "2023-06-01";

type Turn = { role: "user" | "assistant"; content: Json[] };

/** OpenAI chat completions over Anthropic's Messages API. */
export const anthropicTranslator: ChatTranslator = {
  request(chat) {
    const messages = withUserTurn(withJsonAsked(chat));
    const system = systemOf(messages);
    const thinking = thinkingOf(chat);
    const config = { ...thinking.config, ...formatOf(chat) };
    const body = {
      model: chat.model,
      max_tokens: thinking.maxTokens,
      messages: withTrimmedEnd(turns(messages)),
      ...(system.length === 0 ? {} : { system }),
      // OpenAI's scale ends at 2, Anthropic's at 1.
      ...(chat.temperature == null ? {} : { temperature: Math.min(1, chat.temperature) }),
      ...(chat.top_p == null ? {} : { top_p: chat.top_p }),
      ...(chat.top_k == null ? {} : { top_k: chat.top_k }),
      ...(chat.stop == null ? {} : { stop_sequences: [chat.stop].flat() }),
      ...(chat.stream === true ? { stream: true } : {}),
      ...(thinking.thinking === undefined ? {} : { thinking: thinking.thinking }),
      ...(Object.keys(config).length === 0 ? {} : { output_config: config }),
      ...tools(chat),
      ...cacheMark(chat),
    };
    return { rest: "v1/messages", query: "", body, headers: [["anthropic-version", VERSION]] };
  },
  reply: anthropicReply,
  stream: anthropicStream,
  errorOf: (body) => body["error"],
};

/** Stands for a format that Anthropic does not have: JSON without a schema. */
const JSON_ALONE = "Answer with one JSON object and nothing else, without a code fence.";

function withJsonAsked({ messages, response_format: format }: Chat): readonly ChatMessage[] {
  const hasSchema = format?.json_schema?.schema != null;
  if (format == null || format.type === "text" || hasSchema) return messages;
  return [{ role: "system", content: JSON_ALONE }, ...messages];
}

function formatOf({ response_format: format }: Chat): Json {
  const schema = format?.type === "json_schema" ? format.json_schema?.schema : null;
  return schema == null ? {} : { format: { type: "json_schema", schema: outputSchema(schema) } };
}

interface Thinking {
  readonly maxTokens: number;
  readonly thinking?: object;
  readonly config?: Json;
}

function thinkingOf(chat: Chat): Thinking {
  const limit = chat.max_completion_tokens ?? chat.max_tokens ?? null;
  const { reasoning_effort: effort, thinking_budget: budget, thinking_off: off } = chat;
  const plain: Thinking = { maxTokens: limit ?? DEFAULT_MAX_TOKENS };
  if (off != null) return { ...plain, thinking: { type: off } };
  if (budget != null) return goesOnUnthought(chat.messages) ? plain : thinkingWithin(budget, limit);
  if (effort == null) return plain;
  const display = chat.shows_thoughts === true ? { display: "summarized" } : {};
  return { ...plain, thinking: { type: "adaptive", ...display }, config: { effort } };
}

/**
 * Whether the model is to go on behind calls whose thoughts the client has not kept (OpenAI's own helpers drop them).
 * Anthropic refuses a request that asks it to think then.
 */
function goesOnUnthought(messages: readonly ChatMessage[]): boolean {
  const last = messages.findLast((message) => message.role === "assistant");
  const hasCalls = (last?.tool_calls ?? []).length > 0;
  return hasCalls && (last?.reasoning ?? []).flatMap(thoughtBlock).length === 0;
}

/** One limit holds for thoughts and answer together: a short answer leaves no room to think. */
function thinkingWithin(wanted: number, limit: number | null): Thinking {
  const maxTokens = limit ?? wanted + DEFAULT_MAX_TOKENS;
  const budget = Math.min(wanted, maxTokens - 1);
  return budget < LEAST_BUDGET
    ? { maxTokens }
    : { maxTokens, thinking: { type: "enabled", budget_tokens: budget } };
}

function tools(chat: Chat): Record<string, unknown> {
  if (chat.tools == null || chat.tools.length === 0) return {};
  const defined = chat.tools.map((tool) => {
    const { name, description, parameters } = tool.function;
    return {
      name,
      ...(description == null ? {} : { description }),
      input_schema: parameters ?? { type: "object", properties: {} },
      ...cacheMark(tool, tool.function),
    };
  });
  const choice = chat.tool_choice ?? "auto";
  const type = choice === "required" ? "any" : choice;
  const picked = typeof type === "string" ? { type } : { type: "tool", name: type.function.name };
  const single = chat.parallel_tool_calls === false && picked.type !== "none";
  return {
    tools: defined,
    tool_choice: { ...picked, ...(single ? { disable_parallel_tool_use: true } : {}) },
  };
}

/** One text, unless marks divide it. */
function systemOf(messages: readonly ChatMessage[]): string | Json[] {
  const instructions = messages.filter(({ role }) => role === "system" || role === "developer");
  const divided = instructions.flatMap((one) =>
    markedBlocks(
      contentParts(one.content).map((part) => ({
        type: "text",
        text: textContent([part]),
        ...cacheMark(part),
      })),
      one,
    ),
  );
  return divided.some(isMarked) ? divided : systemText(messages);
}

/** Neighbours of one role become one turn: all results of a round of tool calls must stand together. */
function turns(messages: readonly ChatMessage[]): Turn[] {
  const out: Turn[] = [];
  for (const message of messages) {
    if (message.role === "system" || message.role === "developer") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = markedBlocks(blocks(message), message);
    if (content.length === 0) continue;
    const last = out.at(-1);
    if (last?.role === role) appendAll(last.content, content);
    else out.push({ role, content });
  }
  return out;
}

/** Anthropic refuses an answer that begins with a text that ends with a blank. */
function withTrimmedEnd(all: Turn[]): Turn[] {
  const last = all.at(-1);
  const end = last?.content.at(-1);
  if (last?.role !== "assistant" || end?.["type"] !== "text") return all;
  const trimmed = { ...end, text: jsonText(end["text"]).trimEnd() };
  return [...all.slice(0, -1), { ...last, content: [...last.content.slice(0, -1), trimmed] }];
}

function blocks(message: ChatMessage): Json[] {
  if (message.role === "tool") {
    const { content, tool_call_id: id, failed } = message;
    const result = {
      type: "tool_result",
      tool_use_id: ownId(id),
      content: resultContent(content),
      ...lastMark(contentParts(content)),
    };
    return [failed === true ? { ...result, is_error: true } : result];
  }
  if (message.role === "assistant") {
    const text = textContent(message.content);
    const calls = (message.tool_calls ?? []).map(
      ({ id, function: { name, arguments: input }, cache_control }) => ({
        type: "tool_use",
        id: ownId(id),
        name,
        input: toolArguments(input),
        ...cacheMark({ cache_control }),
      }),
    );
    const mark = lastMark(contentParts(message.content));
    const pieces = orderedPieces(message.reasoning ?? [], text, calls).filter(
      (piece) => piece.kind !== "text" || !isBlank(piece.text),
    );
    const last = pieces.findLast(({ kind }) => kind === "text");
    return pieces.flatMap((piece): Json[] => {
      if (piece.kind === "thought") return thoughtBlock(piece.thought);
      if (piece.kind === "call") return [piece.call];
      return [{ type: "text", text: piece.text, ...(piece === last ? mark : {}) }];
    });
  }
  return contentParts(message.content).map((part) => ({ ...block(part), ...cacheMark(part) }));
}

/** Anthropic refuses other characters in the id of a call, which another provider may have given. */
function ownId(id: string): string {
  return id.replace(/[^\w-]/g, "_");
}

/** A thought without a signature would be refused. */
function thoughtBlock({ text, signature, hidden }: ChatReasoning): Json[] {
  if (hidden !== undefined) return [{ type: "redacted_thinking", data: hidden }];
  return signature === undefined ? [] : [{ type: "thinking", thinking: text, signature }];
}

function resultContent(content: ChatContent): string | Json[] {
  const parts = contentParts(content);
  if (parts.length === 0) return "";
  return parts.every(({ type }) => type === "text") ? textContent(content) : parts.map(block);
}

function block(one: ChatPart): Json {
  if (one.type === "text") return { type: "text", text: one.text };
  if (one.type === "image_url") return { type: "image", source: sourceOf(one.image_url.url) };
  if (one.type === "file" && one.file.file_data != null) {
    const { file_data: data, filename } = one.file;
    const titled = filename == null ? {} : { title: filename };
    return { type: "document", source: textSource(data) ?? sourceOf(data), ...titled };
  }
  throw cannot(one.type === "file" ? "file without file_data" : one.type);
}

/** Anthropic takes a text as it is; encoded, it takes PDFs alone. Null for anything but a text. */
function textSource(url: string): Json | null {
  const inline = dataUrl(url);
  if (inline?.mediaType.startsWith("text/") !== true) return null;
  const bytes = fromBase64(inline.data);
  if (bytes === null) throw cannot("a file that is not base64");
  return { type: "text", media_type: "text/plain", data: new TextDecoder().decode(bytes) };
}

function sourceOf(url: string): Json {
  const inline = dataUrl(url);
  if (inline !== null) return { type: "base64", media_type: inline.mediaType, data: inline.data };
  if (!/^https?:/i.test(url)) throw cannot("a file that is neither a data: nor an http(s) URL");
  return { type: "url", url };
}
