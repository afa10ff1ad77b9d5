import { formatEvent } from "../../../http/sse.ts";
import type { ChatReasoning, ChatUsage } from "../chat-format.ts";
import { readChat } from "./chat-request.ts";
import type { ReplyContext, ChatDelta, ChatFront, ChatReply, StreamWriter } from "../reply.ts";

/**
 * OpenAI's chat completions. Thoughts stand in `reasoning_content`, what their provider wants back in
 * `reasoning_details`, drawn images in `images`.
 */
export const chatFront: ChatFront = { read: readChat, reply: completion, stream: chunks, failure };

/** Returns an error in OpenAI's form. */
export function failure(message: string, status: number): object {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type, param: null, code: null } };
}

function completion(reply: ChatReply, { chat, created, id }: ReplyContext): object {
  const { model, text, refusal, reasoning = [], images = [], toolCalls, finishReason } = reply;
  const thoughts = reasoning.map((one) => one.text).join("");
  const details = reasoning.flatMap(detailsOf);
  const message = {
    role: "assistant",
    content: text === "" && (toolCalls.length > 0 || refusal !== undefined) ? null : text,
    refusal: refusal ?? null,
    ...(thoughts === "" ? {} : { reasoning_content: thoughts }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(images.length === 0 ? {} : { images: images.map(imagePart) }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finishReason ?? "stop" }];
  return {
    id: reply.id || `chatcmpl-${id}`,
    object: "chat.completion",
    created,
    model: model === "" ? chat.model : model,
    choices,
    usage: reply.usage,
  };
}

/** Returns thoughts in the form of OpenRouter, so that clients that know it bring them back. */
function detailsOf({ text, signature, hidden }: ChatReasoning): object[] {
  if (hidden !== undefined) return [{ type: "reasoning.encrypted", data: hidden }];
  return signature === undefined ? [] : [{ type: "reasoning.text", text, signature }];
}

/** OpenAI's chats have no place for images of a model; this is OpenRouter's. */
function imagePart(url: string): object {
  return { type: "image_url", image_url: { url } };
}

function chunks({ chat, created, id }: ReplyContext): StreamWriter {
  const base = {
    id: `chatcmpl-${id}`,
    object: "chat.completion.chunk",
    created,
    model: chat.model,
  };
  let usage: ChatUsage | undefined;
  return {
    add(event) {
      base.id = event.id || base.id;
      base.model = event.model || base.model;
      usage = event.usage ?? usage;
      if (event.delta === undefined) return "";
      const choice = { index: 0, delta: deltaOf(event), logprobs: null };
      const choices = [{ ...choice, finish_reason: event.finishReason ?? null }];
      return formatEvent({ data: JSON.stringify({ ...base, choices }) });
    },
    end() {
      const done = formatEvent({ data: "[DONE]" });
      if (chat.stream_options?.include_usage !== true || usage === undefined) return done;
      return formatEvent({ data: JSON.stringify({ ...base, choices: [], usage }) }) + done;
    },
    error: (message) =>
      formatEvent({ data: JSON.stringify({ error: { message, type: "server_error" } }) }),
  };
}

function deltaOf({ delta = {} }: ChatDelta): object {
  const { thought, reasoning, images, ...rest } = delta;
  const details = reasoning === undefined ? [] : detailsOf(reasoning);
  return {
    ...rest,
    ...(thought === undefined ? {} : { reasoning_content: thought }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(images === undefined ? {} : { images: images.map(imagePart) }),
  };
}
