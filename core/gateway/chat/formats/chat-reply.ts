import { formatEvent } from "../../../http/sse.ts";
import type { ChatReasoning, ChatUsage } from "../chat-format.ts";
import type { FailureKind, ProviderFailure } from "../failures/failure.ts";
import { readChat } from "./chat-request.ts";
import { clientCall, type ClientCalls, clientCalls, customNames } from "./custom-calls.ts";
import type {
  ReplyContext,
  ChatDelta,
  ChatFront,
  ChatReply,
  MessageDelta,
  StreamWriter,
} from "../reply.ts";
import { placed } from "../thought-place.ts";

/**
 * OpenAI's chat completions. Thoughts stand in `reasoning_content`, what their provider wants back in
 * `reasoning_details`, drawn images in `images`.
 */
export const chatFront: ChatFront = { read: readChat, reply: completion, stream: chunks, failure };

/** Types and codes of errors, by their kinds (OpenAI, "Error codes"; Azure, "Content filtering"; Codex reads the codes of streams). */
const errors: Readonly<Record<FailureKind, readonly [type: string, code: string | null]>> = {
  authentication: ["invalid_request_error", "invalid_api_key"],
  content_filter: ["invalid_request_error", "content_filter"],
  context_too_long: ["invalid_request_error", "context_length_exceeded"],
  failed: ["server_error", null],
  invalid: ["invalid_request_error", null],
  not_found: ["invalid_request_error", "model_not_found"],
  overloaded: ["server_error", "server_is_overloaded"],
  permission: ["invalid_request_error", null],
  quota: ["insufficient_quota", "insufficient_quota"],
  rate_limit: ["rate_limit_error", "rate_limit_exceeded"],
  too_large: ["invalid_request_error", null],
};

/** The words of OpenAI by which clients know that they have to shorten a conversation. */
const TOO_LONG = "This model's maximum context length is exceeded";

export function failure(given: ProviderFailure): { readonly error: OpenAiError } {
  const { kind, message } = given;
  const [type, code] = errors[kind];
  const said =
    kind === "context_too_long" && !/maximum context length/i.test(message)
      ? `${TOO_LONG}: ${message}`
      : message;
  return { error: { message: said, type, param: null, code } };
}

interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: null;
  readonly code: string | null;
}

function completion(reply: ChatReply, { chat, given, created, id }: ReplyContext): object {
  const { model, text, refusal, reasoning = [], images = [], toolCalls, finishReason } = reply;
  const thoughts = reasoning.map((one) => one.text).join("");
  const details = reasoning.flatMap(detailsOf).map((detail, index) => ({ ...detail, index }));
  const custom = customNames(given);
  const calls = toolCalls.map((call) => clientCall(call, custom));
  const message = {
    role: "assistant",
    content: text === "" && (calls.length > 0 || refusal !== undefined) ? null : text,
    refusal: refusal ?? null,
    ...(thoughts === "" ? {} : { reasoning_content: thoughts }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(images.length === 0 ? {} : { images: images.map(imagePart) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
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
function detailsOf({ text, signature, hidden, after }: ChatReasoning): object[] {
  const place = after === undefined ? {} : { after };
  if (hidden !== undefined) return [{ type: "reasoning.encrypted", data: hidden, ...place }];
  return signature === undefined ? [] : [{ type: "reasoning.text", text, signature, ...place }];
}

/** OpenAI's chats have no place for images of a model; this is OpenRouter's. */
function imagePart(url: string): object {
  return { type: "image_url", image_url: { url } };
}

function chunks({ chat, given, created, id }: ReplyContext): StreamWriter {
  const base = {
    id: `chatcmpl-${id}`,
    object: "chat.completion.chunk",
    created,
    model: chat.model,
  };
  let usage: ChatUsage | undefined;
  const numbered = detailNumbers();
  const called = clientCalls(customNames(given));
  return {
    add(event) {
      base.id = event.id || base.id;
      base.model = event.model || base.model;
      usage = event.usage ?? usage;
      if (event.delta === undefined) return "";
      const delta = deltaOf(event, numbered, called);
      const choice = { index: 0, delta, logprobs: null };
      const choices = [{ ...choice, finish_reason: event.finishReason ?? null }];
      return formatEvent({ data: JSON.stringify({ ...base, choices }) });
    },
    end() {
      const done = formatEvent({ data: "[DONE]" });
      if (chat.stream_options?.include_usage !== true || usage === undefined) return done;
      return formatEvent({ data: JSON.stringify({ ...base, choices: [], usage }) }) + done;
    },
    error: (failed) => formatEvent({ data: JSON.stringify(failure(failed)) }),
  };
}

/** Returns the details of a delta's thought, with their numbers and its place in the message. */
type DetailNumbers = (delta: MessageDelta) => object[];

function detailNumbers(): DetailNumbers {
  let next = 0;
  const before = { text: 0, calls: 0 };
  return ({ reasoning, content = "", tool_calls: calls = [] }) => {
    const details = reasoning === undefined ? [] : detailsOf({ ...reasoning, ...placed(before) });
    before.text += content.length;
    for (const { index } of calls) before.calls = Math.max(before.calls, index + 1);
    return details.map((detail) => ({ ...detail, index: next++ }));
  };
}

function deltaOf(
  { delta = {}, finishReason }: ChatDelta,
  numbered: DetailNumbers,
  called: ClientCalls,
): object {
  const { thought, reasoning: _, images, tool_calls: pieces = [], ...rest } = delta;
  const details = numbered(delta);
  const calls = called(pieces, finishReason !== undefined);
  return {
    ...rest,
    ...(thought === undefined ? {} : { reasoning_content: thought }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(images === undefined ? {} : { images: images.map(imagePart) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}
