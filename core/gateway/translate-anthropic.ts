import {
  cannot,
  type Chat,
  type ChatMessage,
  type ChatUsage,
  chatUsage,
  dataUrl,
  textContent,
  toolArguments,
} from "./chat-format.ts";
import { type Json, jsonCount, jsonObject, jsonObjects, jsonText } from "./json-access.ts";
import type { ChatDelta, ChatReply, ChatTranslator, StreamReader } from "./translate.ts";

/** Anthropic requires a limit; this one fits every current model. */
const DEFAULT_MAX_TOKENS = 4096;
const VERSION = "2023-06-01";

type Turn = { role: "user" | "assistant"; content: Json[] };

/** OpenAI chat completions over Anthropic's Messages API. */
export const anthropicTranslator: ChatTranslator = {
  request(chat) {
    const system = chat.messages
      .filter(({ role }) => role === "system" || role === "developer")
      .map(({ content }) => textContent(content))
      .join("\n\n");
    const format = chat.response_format?.type ?? "text";
    if (format !== "text") throw cannot(`response_format ${format}`);
    const body = {
      model: chat.model,
      max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? DEFAULT_MAX_TOKENS,
      messages: turns(chat.messages),
      ...(system === "" ? {} : { system }),
      // OpenAI's scale ends at 2, Anthropic's at 1.
      ...(chat.temperature == null ? {} : { temperature: Math.min(1, chat.temperature) }),
      ...(chat.top_p == null ? {} : { top_p: chat.top_p }),
      ...(chat.stop == null ? {} : { stop_sequences: [chat.stop].flat() }),
      ...(chat.stream === true ? { stream: true } : {}),
      ...tools(chat),
    };
    return { rest: "v1/messages", query: "", body, headers: [["anthropic-version", VERSION]] };
  },
  reply,
  stream,
  errorMessage: (body) => jsonObject(body["error"])["message"],
};

function tools(chat: Chat): Record<string, unknown> {
  if (chat.tools == null || chat.tools.length === 0) return {};
  const defined = chat.tools.map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description == null ? {} : { description }),
    input_schema: parameters ?? { type: "object", properties: {} },
  }));
  const choice = chat.tool_choice ?? "auto";
  const type = choice === "required" ? "any" : choice;
  const picked = typeof type === "string" ? { type } : { type: "tool", name: type.function.name };
  const single = chat.parallel_tool_calls === false && picked.type !== "none";
  return {
    tools: defined,
    tool_choice: { ...picked, ...(single ? { disable_parallel_tool_use: true } : {}) },
  };
}

/** Neighbours of one role become one turn: all results of a round of tool calls must stand together. */
function turns(messages: readonly ChatMessage[]): Turn[] {
  const out: Turn[] = [];
  for (const message of messages) {
    if (message.role === "system" || message.role === "developer") continue;
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocks(message);
    if (content.length === 0) continue;
    const last = out.at(-1);
    if (last?.role === role) last.content.push(...content);
    else out.push({ role, content });
  }
  return out;
}

function blocks(message: ChatMessage): Json[] {
  if (message.role === "tool") {
    return [
      {
        type: "tool_result",
        tool_use_id: message.tool_call_id,
        content: textContent(message.content),
      },
    ];
  }
  if (message.role === "assistant") {
    const text = textContent(message.content);
    const calls = (message.tool_calls ?? []).map(
      ({ id, function: { name, arguments: input } }) => ({
        type: "tool_use",
        id,
        name,
        input: toolArguments(input),
      }),
    );
    return [...(text === "" ? [] : [{ type: "text", text }]), ...calls];
  }
  const { content } = message;
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return (content ?? []).map((one) => {
    if (one.type === "text") return { type: "text", text: one.text };
    if (one.type !== "image_url") throw cannot(one.type);
    const inline = dataUrl(one.image_url.url);
    const source =
      inline === null
        ? { type: "url", url: one.image_url.url }
        : { type: "base64", media_type: inline.mediaType, data: inline.data };
    return { type: "image", source };
  });
}

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

function finishReason(reason: unknown): string {
  return finishReasons[jsonText(reason)] ?? "stop";
}

function reply(body: Json): ChatReply {
  const content = jsonObjects(body["content"]);
  const text = content
    .filter(({ type }) => type === "text")
    .map((block) => jsonText(block["text"]));
  const toolCalls = content
    .filter(({ type }) => type === "tool_use")
    .map((block) => ({
      id: jsonText(block["id"]),
      type: "function" as const,
      function: { name: jsonText(block["name"]), arguments: JSON.stringify(block["input"] ?? {}) },
    }));
  return {
    id: jsonText(body["id"]),
    model: jsonText(body["model"]),
    text: text.join(""),
    toolCalls,
    finishReason: finishReason(body["stop_reason"]),
    usage: usageOf(jsonObject(body["usage"])),
  };
}

function usageOf(usage: Json): ChatUsage {
  const cached = jsonCount(usage["cache_read_input_tokens"]);
  const written = jsonCount(usage["cache_creation_input_tokens"]);
  const prompt = jsonCount(usage["input_tokens"]) + cached + written;
  return chatUsage(prompt, jsonCount(usage["output_tokens"]), cached);
}

/** Follows a stream from `message_start` to `message_stop`; anything else is a broken stream. */
function stream(): StreamReader {
  let usage: Json = {};
  const calls = new Map<unknown, number>();
  const read = (event: Json): ChatDelta => {
    switch (event["type"]) {
      case "message_start": {
        const message = jsonObject(event["message"]);
        usage = jsonObject(message["usage"]);
        const delta = { role: "assistant", content: "" };
        return { id: jsonText(message["id"]), model: jsonText(message["model"]), delta };
      }
      case "content_block_start":
        return blockStart(event, calls);
      case "content_block_delta":
        return blockDelta(event, calls);
      case "message_delta": {
        usage = { ...usage, ...jsonObject(event["usage"]) };
        const reason = finishReason(jsonObject(event["delta"])["stop_reason"]);
        return { delta: {}, finishReason: reason, usage: usageOf(usage) };
      }
      case "message_stop":
        return { done: true };
      case "error":
        return { error: jsonText(jsonObject(event["error"])["message"], "The provider failed") };
      default:
        return {};
    }
  };
  return { read, endsByItself: false };
}

function blockStart(event: Json, calls: Map<unknown, number>): ChatDelta {
  const block = jsonObject(event["content_block"]);
  if (block["type"] !== "tool_use") return {};
  const index = calls.size;
  calls.set(event["index"], index);
  const started = { name: jsonText(block["name"]), arguments: "" };
  return {
    delta: {
      tool_calls: [{ index, id: jsonText(block["id"]), type: "function", function: started }],
    },
  };
}

function blockDelta(event: Json, calls: Map<unknown, number>): ChatDelta {
  const delta = jsonObject(event["delta"]);
  if (delta["type"] === "text_delta") return { delta: { content: jsonText(delta["text"]) } };
  if (delta["type"] !== "input_json_delta") return {};
  const index = calls.get(event["index"]) ?? 0;
  const piece = { arguments: jsonText(delta["partial_json"]) };
  return { delta: { tool_calls: [{ index, function: piece }] } };
}
