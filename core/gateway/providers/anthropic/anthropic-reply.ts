import { type ChatReasoning, chatUsage, type ThoughtPlace } from "../../chat/chat-format.ts";
import { type Json, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import type { ChatDelta, ChatReply, StreamReader } from "../../chat/reply.ts";
import { placed } from "../../chat/thought-place.ts";
import { noUsage } from "../../chat/usage.ts";
import { openAiUsage } from "../openai/openai-usage.ts";

const finishReasons: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** OpenAI's word for why a message ended. */
function finishReason(reason: unknown): string {
  return finishReasons[jsonText(reason)] ?? "stop";
}

export function anthropicReply(body: Json): ChatReply {
  const content = jsonObjects(body["content"]);
  const text = content.map(textOf);
  const isCall = ({ type }: Json): boolean => type === "tool_use";
  const placeOf = (at: number): { after?: ThoughtPlace } =>
    placed({
      text: text.slice(0, at).join("").length,
      calls: content.slice(0, at).filter(isCall).length,
    });
  const toolCalls = content.filter(isCall).map((one) => ({
    id: jsonText(one["id"]),
    type: "function" as const,
    function: { name: jsonText(one["name"]), arguments: JSON.stringify(one["input"] ?? {}) },
  }));
  return {
    id: jsonText(body["id"]),
    model: jsonText(body["model"]),
    text: text.join(""),
    ...refusalOf(body),
    reasoning: content.flatMap((one, at) =>
      thoughtOf(one).map((thought) => ({ ...thought, ...placeOf(at) })),
    ),
    toolCalls,
    finishReason: finishReason(body["stop_reason"]),
    usage: chatUsage(openAiUsage(noUsage, body) ?? noUsage),
  };
}

/** Returns the text of a content block; empty for another block. */
function textOf({ type, text }: Json): string {
  return type === "text" ? jsonText(text) : "";
}

/** Returns the thought of a content block; empty for another block. */
function thoughtOf(one: Json): ChatReasoning[] {
  if (one["type"] === "redacted_thinking") return [{ text: "", hidden: jsonText(one["data"]) }];
  if (one["type"] !== "thinking") return [];
  const [text, signature] = [jsonText(one["thinking"]), jsonText(one["signature"])];
  return [signature === "" ? { text } : { text, signature }];
}

/** Says why the model refuses, where it says so. */
function refusalOf(ended: Json): { readonly refusal?: string } {
  const refusal = jsonText(jsonObject(ended["stop_details"])["explanation"]);
  return refusal === "" ? {} : { refusal };
}

interface OpenBlock {
  readonly block: Json;
  thinking: string;
  signature: string;
  /** Whether a piece of a call's arguments has been sent. */
  hasArguments: boolean;
}

/** Follows a stream from `message_start` to `message_stop`; anything else is a broken stream. */
export function anthropicStream(): StreamReader {
  let usage = noUsage;
  const calls = new Map<unknown, number>();
  const open = new Map<unknown, OpenBlock>();
  const read = (event: Json): ChatDelta => {
    switch (event["type"]) {
      case "message_start": {
        const message = jsonObject(event["message"]);
        usage = openAiUsage(usage, event) ?? usage;
        const delta = { role: "assistant", content: "" } as const;
        return { id: jsonText(message["id"]), model: jsonText(message["model"]), delta };
      }
      case "content_block_start": {
        const block = jsonObject(event["content_block"]);
        open.set(event["index"], { block, thinking: "", signature: "", hasArguments: false });
        return blockStart(event, block, calls);
      }
      case "content_block_delta":
        return blockDelta(event, open.get(event["index"]), calls);
      case "content_block_stop":
        return blockEnd(event, open.get(event["index"]), calls);
      case "message_delta": {
        usage = openAiUsage(usage, event) ?? usage;
        const delta = jsonObject(event["delta"]);
        const finish = finishReason(delta["stop_reason"]);
        return { delta: refusalOf(delta), finishReason: finish, usage: chatUsage(usage) };
      }
      case "message_stop":
        return { done: true };
      case "error":
        return { error: event["error"] ?? {} };
      default:
        return {};
    }
  };
  return { read, endsByItself: false };
}

function blockStart(event: Json, block: Json, calls: Map<unknown, number>): ChatDelta {
  if (block["type"] === "text" && block["text"] !== "")
    return { delta: { content: jsonText(block["text"]) } };
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

function blockDelta(
  event: Json,
  open: OpenBlock | undefined,
  calls: Map<unknown, number>,
): ChatDelta {
  const delta = jsonObject(event["delta"]);
  switch (delta["type"]) {
    case "text_delta":
      return { delta: { content: jsonText(delta["text"]) } };
    case "thinking_delta": {
      const thought = jsonText(delta["thinking"]);
      if (open !== undefined) open.thinking += thought;
      return { delta: { thought } };
    }
    case "signature_delta":
      if (open !== undefined) open.signature += jsonText(delta["signature"]);
      return {};
    case "input_json_delta": {
      const index = calls.get(event["index"]);
      if (index === undefined) return {};
      const piece = { arguments: jsonText(delta["partial_json"]) };
      if (open !== undefined) open.hasArguments ||= piece.arguments !== "";
      return { delta: { tool_calls: [{ index, function: piece }] } };
    }
    default:
      return {};
  }
}

function blockEnd(
  event: Json,
  open: OpenBlock | undefined,
  calls: Map<unknown, number>,
): ChatDelta {
  if (open === undefined) return {};
  const { block, thinking, signature, hasArguments } = open;
  const index = calls.get(event["index"]);
  if (index !== undefined) {
    // A call without arguments has no pieces; clients parse the text all the same.
    const whole = { arguments: JSON.stringify(block["input"] ?? {}) };
    return hasArguments ? {} : { delta: { tool_calls: [{ index, function: whole }] } };
  }
  const [reasoning] = thoughtOf({ ...block, thinking, signature });
  return reasoning === undefined ? {} : { delta: { reasoning } };
}
