import { formatEvent } from "../../../http/sse.ts";
import { type ChatUsage, chatUsage } from "../chat-format.ts";
import { noUsage } from "../usage.ts";
import { type Json, parsedJson } from "../../../http/json.ts";
import type { Block, BlockEvents } from "../block.ts";
import { blocksOf, blockStream } from "../blocks.ts";
import type { FailureKind, ProviderFailure } from "../failures/failure.ts";
import { readMessages } from "./messages-request.ts";
import type { ReplyContext, ChatFront, ChatReply, StreamWriter } from "../reply.ts";

export const messagesFront: ChatFront = { read: readMessages, reply: whole, stream, failure };

const errorTypes: Readonly<Record<FailureKind, string>> = {
  authentication: "authentication_error",
  content_filter: "invalid_request_error",
  context_too_long: "invalid_request_error",
  failed: "api_error",
  invalid: "invalid_request_error",
  not_found: "not_found_error",
  overloaded: "overloaded_error",
  permission: "permission_error",
  quota: "billing_error",
  rate_limit: "rate_limit_error",
  too_large: "request_too_large",
};

/** The words of Anthropic by which clients know that they have to shorten a conversation. */
const TOO_LONG = "prompt is too long";

function failure({ kind, message }: ProviderFailure): { readonly type: "error"; error: object } {
  const isUnsaid = kind === "context_too_long" && !message.toLowerCase().includes(TOO_LONG);
  const told = isUnsaid ? `${TOO_LONG}: ${message}` : message;
  return { type: "error", error: { type: errorTypes[kind], message: told } };
}

function whole(reply: ChatReply, context: ReplyContext): object {
  const blocks = blocksOf(reply);
  return {
    ...startedMessage(context, reply.model),
    content: blocks.map((block) => ({ ...contentBlock(block), ...said(block) })),
    ...stopped(reply, blocks),
    usage: usageOf(reply.usage),
  };
}

function startedMessage({ chat, id }: ReplyContext, model: string): object {
  return {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: model === "" ? chat.model : model,
    content: [],
    container: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
  };
}

type Ending = Pick<ChatReply, "finishReason" | "stopSequence">;

const stopReasons: Readonly<Record<string, string>> = {
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

/** Says why an answer ended: a model that says why it refuses says so in a text. */
function stopped(ended: Ending, blocks: readonly Block[]): Json {
  const { finishReason: reason, stopSequence = null } = ended;
  const refusal = blocks.find(({ kind }) => kind === "refusal");
  const natural = stopSequence === null ? "end_turn" : "stop_sequence";
  const plain = reason === "stop" ? natural : (stopReasons[reason ?? ""] ?? "end_turn");
  const why = refusal === undefined ? plain : "refusal";
  const details = { type: "refusal", category: null, explanation: refusal?.text ?? null };
  return {
    stop_reason: why,
    stop_sequence: why === "stop_sequence" ? stopSequence : null,
    stop_details: why === "refusal" ? details : null,
  };
}

/** Anthropic counts cached tokens beside the input, OpenAI within. */
function usageOf(usage: ChatUsage): object {
  const { cached_tokens: cached, cache_write_tokens: written = 0 } = usage.prompt_tokens_details;
  const thinking = usage.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: Math.max(0, usage.prompt_tokens - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: usage.completion_tokens,
    ...(thinking === undefined ? {} : { output_tokens_details: { thinking_tokens: thinking } }),
  };
}

/** Returns a block as it begins. */
function contentBlock({ kind, reasoning, id, name, extra }: Block): Json {
  if (kind === "call") {
    const kept = extra === undefined ? {} : { extra_content: extra };
    return { type: "tool_use", id, name, input: {}, ...kept };
  }
  if (kind !== "thought") return { type: "text", text: "" };
  if (reasoning?.hidden !== undefined) return { type: "redacted_thinking", data: reasoning.hidden };
  return { type: "thinking", thinking: "", signature: "" };
}

function said({ kind, text, reasoning }: Block): Json {
  if (kind === "call") return { input: inputOf(text) };
  if (kind === "image") return { text: picture(text) };
  if (kind !== "thought") return { text };
  if (reasoning?.hidden !== undefined) return {};
  return { thinking: text, signature: reasoning?.signature ?? "" };
}

/** Writes an image as Markdown: Anthropic's models draw nothing, so their format has no block for it. */
function picture(url: string): string {
  return `![](${url})`;
}

/** Models do not always write JSON; the client then sees what they wrote. */
function inputOf(text: string): unknown {
  const value = text.trim() === "" ? {} : parsedJson(text);
  return value === undefined ? { _raw: text } : value;
}

function stream(context: ReplyContext): StreamWriter {
  const emit = (type: string, more: object): string =>
    formatEvent({ event: type, data: JSON.stringify({ type, ...more }) });
  const writer = blockStream(blockEvents(emit));
  let started = false;
  let usage: ChatUsage = chatUsage(noUsage);
  let ended: Ending = { finishReason: null };
  return {
    add(event) {
      const { finishReason, stopSequence } = event;
      usage = event.usage ?? usage;
      if (finishReason !== undefined)
        ended = { finishReason, ...(stopSequence === undefined ? {} : { stopSequence }) };
      const start = started
        ? ""
        : emit("message_start", {
            message: { ...startedMessage(context, event.model ?? ""), usage: usageOf(usage) },
          });
      started = true;
      return start + writer.add(event.delta ?? {});
    },
    end() {
      const delta = { ...stopped(ended, writer.blocks), container: null };
      return (
        writer.end() +
        emit("message_delta", { delta, usage: usageOf(usage) }) +
        emit("message_stop", {})
      );
    },
    error: (given) => emit("error", failure(given)),
  };
}

function blockEvents(emit: (type: string, more: object) => string): BlockEvents {
  const delta = (index: number, piece: object): string =>
    emit("content_block_delta", { index, delta: piece });
  return {
    open: (block) =>
      emit("content_block_start", { index: block.index, content_block: contentBlock(block) }),
    piece({ kind, index }, text) {
      if (kind === "call") return delta(index, { type: "input_json_delta", partial_json: text });
      return kind === "thought"
        ? delta(index, { type: "thinking_delta", thinking: text })
        : delta(index, { type: "text_delta", text: kind === "image" ? picture(text) : text });
    },
    close({ index, reasoning }) {
      const { signature, hidden } = reasoning ?? {};
      const signed =
        signature === undefined || hidden !== undefined
          ? ""
          : delta(index, { type: "signature_delta", signature });
      return signed + emit("content_block_stop", { index });
    },
  };
}
