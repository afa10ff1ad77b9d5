import type { InboundResponse, OutboundRequest } from "../../core/ports.ts";
import { jsonReply, streamReply } from "./gateway-transport.ts";

/** What every stream of {@link openaiStreams} has used. */
export const streamedUsage = { prompt_tokens: 1_000_000, completion_tokens: 100_000 };

/** How many bytes a chunk of the network has. */
export type Cutting = number | "events";

/**
 * Answers as OpenAI does: a stream when one is asked for, which tells its usage in an event of its own, with
 * `"usage":null` in all others, only when `stream_options` asks for it.
 */
export function openaiStreams(cutting: Cutting = "events") {
  return ({ body }: OutboundRequest): InboundResponse => {
    const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : "{}";
    const { stream, stream_options: options } = JSON.parse(text) as {
      stream?: boolean;
      stream_options?: { include_usage?: boolean; include_obfuscation?: boolean } | null;
    };
    if (stream !== true) return jsonReply({ choices: [], usage: streamedUsage });
    const events = streamOf(
      options?.include_usage === true,
      options?.include_obfuscation !== false,
    );
    return streamReply(cutting === "events" ? events : cut(events.join(""), cutting));
  };
}

/** The events of a stream that was asked for its usage, or was not. */
export function streamOf(asked: boolean, obfuscated: boolean = true): string[] {
  const head = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-4o-2024-08-06",
    service_tier: "default",
    system_fingerprint: "fp_1",
  };
  const none = asked ? { usage: null } : {};
  const event = (delta: object, finish: string | null, padding: string): string =>
    `data: ${JSON.stringify({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...none,
      ...(obfuscated ? { obfuscation: padding } : {}),
    })}\n\n`;
  return [
    event({ role: "assistant", content: "", refusal: null }, null, "1"),
    event({ content: 'it says "usage":null, and 模型' }, null, "a}b"),
    event({ content: "!" }, null, "xyz123"),
    event({}, "stop", ""),
    ...(asked
      ? [`data: ${JSON.stringify({ ...head, choices: [], usage: streamedUsage })}\n\n`]
      : []),
    "data: [DONE]\n\n",
  ];
}

function cut(text: string, size: number): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.slice(at, at + size));
  return pieces;
}
