import { expect } from "vitest";
import { sseEvents } from "../../core/http/sse.ts";

export interface StreamEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}
/** The events of a stream, each of which repeats its type as its name. */
export async function eventsOf(response: Response): Promise<StreamEvent[]> {
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const events: StreamEvent[] = [];
  for await (const { event, data } of sseEvents(response.body!)) {
    const parsed = JSON.parse(data) as StreamEvent;
    expect(parsed.type).toBe(event);
    events.push(parsed);
  }
  return events;
}

/** What every provider's fake model answers here: a thought, a text and two calls. */
export const parameters = { type: "object", properties: { city: { type: "string" } } };
export const native = {
  openai: {
    model: "openai/gpt-x",
    reply: {
      id: "c1",
      model: "gpt-x",
      choices: [
        {
          message: {
            content: "Hello",
            reasoning_content: "Hm",
            tool_calls: [
              {
                id: "t1",
                type: "function",
                function: { name: "weather", arguments: '{"city":"Bern"}' },
              },
              { id: "t2", type: "function", function: { name: "clock", arguments: "{}" } },
            ],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 6,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    },
    events: [
      { choices: [{ index: 0, delta: { role: "assistant", content: "" } }] },
      { choices: [{ index: 0, delta: { reasoning_content: "Hm" } }] },
      { choices: [{ index: 0, delta: { content: "Hel" } }] },
      { choices: [{ index: 0, delta: { content: "lo" } }] },
      {
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                { index: 0, id: "t1", function: { name: "weather", arguments: '{"city"' } },
              ],
            },
          },
        ],
      },
      {
        choices: [
          { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: ':"Bern"}' } }] } },
        ],
      },
      {
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [{ index: 1, id: "t2", function: { name: "clock", arguments: "{}" } }],
            },
          },
        ],
      },
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
      {
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 6,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      },
    ].map((event) => ({ id: "c1", model: "gpt-x", ...event })),
  },
  anthropic: {
    model: "anthropic/claude-x",
    reply: {
      id: "m1",
      model: "claude-x",
      content: [
        { type: "thinking", thinking: "Hm", signature: "SIG" },
        { type: "text", text: "Hello" },
        { type: "tool_use", id: "t1", name: "weather", input: { city: "Bern" } },
        { type: "tool_use", id: "t2", name: "clock", input: {} },
      ],
      stop_reason: "tool_use",
      usage: {
        input_tokens: 6,
        cache_read_input_tokens: 4,
        output_tokens: 6,
        output_tokens_details: { thinking_tokens: 2 },
      },
    },
    events: [
      {
        type: "message_start",
        message: {
          id: "m1",
          model: "claude-x",
          usage: { input_tokens: 6, cache_read_input_tokens: 4 },
        },
      },
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "thinking", thinking: "", signature: "" },
      },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "signature_delta", signature: "SIG" },
      },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "t1", name: "weather", input: {} },
      },
      {
        type: "content_block_delta",
        index: 2,
        delta: { type: "input_json_delta", partial_json: '{"city":"Bern"}' },
      },
      { type: "content_block_stop", index: 2 },
      {
        type: "content_block_start",
        index: 3,
        content_block: { type: "tool_use", id: "t2", name: "clock", input: {} },
      },
      {
        type: "content_block_delta",
        index: 3,
        delta: { type: "input_json_delta", partial_json: "{}" },
      },
      { type: "content_block_stop", index: 3 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use" },
        usage: { output_tokens: 6, output_tokens_details: { thinking_tokens: 2 } },
      },
      { type: "message_stop" },
    ],
  },
  gemini: {
    model: "google-ai-studio/gemini-x",
    reply: geminiAnswer([
      { text: "Hm", thought: true },
      { text: "Hello" },
      { functionCall: { name: "weather", args: { city: "Bern" } }, thoughtSignature: "SIG" },
      { functionCall: { name: "clock", args: {} } },
    ]),
    events: [
      geminiAnswer([{ text: "Hm", thought: true }], null),
      geminiAnswer([{ text: "Hello" }], null),
      geminiAnswer([
        { functionCall: { name: "weather", args: { city: "Bern" } }, thoughtSignature: "SIG" },
        { functionCall: { name: "clock", args: {} } },
      ]),
    ],
  },
} as const;

function geminiAnswer(parts: object[], finishReason: string | null = "STOP"): object {
  return {
    responseId: "g1",
    modelVersion: "gemini-x",
    candidates: [
      { content: { role: "model", parts }, ...(finishReason === null ? {} : { finishReason }) },
    ],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: 4,
      thoughtsTokenCount: 2,
      cachedContentTokenCount: 4,
    },
  };
}

export const providers = Object.entries(native);
export const ask = { max_tokens: 64, messages: [{ role: "user", content: "Hi" }] };
