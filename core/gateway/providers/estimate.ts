import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import type { InboundResponse } from "../../ports.ts";
import type { Call, Step } from "../call/call.ts";
import type { Outbound } from "../call/outbound.ts";
import { readChatBody } from "../chat/chat-body.ts";
import { needsOf } from "../chat/conversation.ts";

/** The address of the estimate, which leaves no process. */
const URL_OF_ESTIMATE = "estimate:";

/** Answers a request to count tokens for a provider that does not count them, without asking it. */
export function estimate(step: Step, { signal }: Call): Outbound {
  const { slug, method, body: bytes } = step;
  const body = readChatBody(step);
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0)
    throw new ApiError("chat_format", { message: "messages: at least one message is needed" });
  const size = bytes instanceof Uint8Array ? bytes.length : 0;
  const { inputTokens } = needsOf(body, "messages", size);
  const answer: InboundResponse = {
    status: 200,
    headers: [["content-type", "application/json; charset=utf-8"]],
    body: utf8(JSON.stringify({ input_tokens: inputTokens })),
  };
  return {
    target: { slug, url: URL_OF_ESTIMATE, provider: { credentials: [] } },
    request: { method, url: URL_OF_ESTIMATE, headers: [], body: bytes, signal },
    bringsKey: false,
    via: { send: () => Promise.resolve(answer) },
    restore: (given) => given,
    estimated: "input_tokens",
  };
}
