import type { AnswerSilence } from "../../ports.ts";
import { headerValue } from "../wire/header-hygiene.ts";

/**
 * Ends an answer that sends nothing for `ms`; server-sent events in an event that the SDKs of OpenAI and Anthropic throw.
 * The blank line before it ends an event that came in half.
 */
export function answerSilence(ms: number): AnswerSilence {
  const message = `The provider sent nothing for ${ms / 1000} s`;
  const error = { type: "timeout_error", code: "provider_silent", message };
  const event = `\n\nevent: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
  const bytes = new TextEncoder().encode(event);
  return {
    ms,
    last(headers) {
      const type = headerValue(headers, "content-type") ?? "";
      const encoding = headerValue(headers, "content-encoding") ?? "identity";
      const isReadable =
        /^text\/event-stream\b/i.test(type) && encoding.toLowerCase() === "identity";
      return isReadable && headerValue(headers, "content-length") === null ? bytes : null;
    },
  };
}
