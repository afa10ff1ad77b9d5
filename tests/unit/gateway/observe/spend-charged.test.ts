import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 };
const all = { id: "all", limit: 0.001, limitType: "cost", window: 86_400 };

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({});
  gate.transport.behave = () => jsonReply({ choices: [], usage });
});
afterEach(() => gate.close());

const limited = (rules: object[]): Promise<void> => gate.create("own", { spend_limits: { rules } });

const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  gate.send(`own/${path}`, jsonInit(body, headers));

const errorOf = async (answer: Response): Promise<{ code: number; message: string }> =>
  ((await answer.json()) as { error: [{ code: number; message: string }] }).error[0];

describe("a spend limit", () => {
  it.each([
    ["openai/v1/responses", { tools: [{ type: "function", name: "f" }, { type: "web_search" }] }],
    ["openai/v1/responses", { tools: [{ type: "code_interpreter", container: {} }] }],
    ["openai/chat/completions", { web_search_options: {} }],
    ["openai/chat/completions", { model: "gpt-4-turbo", service_tier: "priority" }],
    ["groq/chat/completions", { model: "openai/gpt-oss-120b", service_tier: "priority" }],
    ["openrouter/v1/chat/completions", { model: "openai/gpt-4o", plugins: [{ id: "web" }] }],
    ["grok/chat/completions", { model: "grok-4", search_parameters: { mode: "auto" } }],
    ["perplexity-ai/chat/completions", { model: "sonar" }],
    ["anthropic/v1/messages", { model: "claude-opus-4-5", speed: "fast" }],
    ["anthropic/v1/messages", { model: "claude-opus-4-1", inference_geo: "us" }],
    [
      "anthropic/v1/messages",
      { model: "claude-opus-4-5", tools: [{ type: "web_search_20250305", name: "web_search" }] },
    ],
    [
      "google-ai-studio/v1beta/models/gemini-2.5-flash:generateContent",
      { tools: [{ functionDeclarations: [] }, { googleSearch: {} }] },
    ],
  ])("refuses what is charged apart from tokens: %s with %j", async (path, more) => {
    await limited([all]);
    const refused = await send(path, { ...chat, model: "gpt-4o", ...more });
    expect([refused.status, (await errorOf(refused)).message]).toEqual([
      400,
      expect.stringMatching(/charges for .* apart.*"on_unknown": "allow"/),
    ]);
    expect(gate.transport.requests).toHaveLength(0);
    await gate.create("loose", { spend_limits: { rules: [all], on_unknown: "allow" } });
    const allowed = await gate.send(
      `loose/${path}`,
      jsonInit({ ...chat, model: "gpt-4o", ...more }),
    );
    expect(allowed.status).toBe(200);
  });

  it.each([
    ["openai/v1/responses", { tools: [{ type: "function" }, { type: "custom" }, { type: "mcp" }] }],
    ["openai/chat/completions", { service_tier: "flex", web_search_options: null, tools: null }],
    ["openai/chat/completions", { service_tier: "priority" }],
    ["anthropic/v1/messages", { model: "claude-opus-4-6", inference_geo: "us" }],
    ["grok/chat/completions", { model: "grok-4", search_parameters: { mode: "off" } }],
    ["perplexity-ai/chat/completions", { model: "sonar", disable_search: true }],
    [
      "anthropic/v1/messages",
      {
        model: "claude-opus-4-5",
        tools: [{ name: "mine", input_schema: {} }, { type: "bash_20250124" }],
      },
    ],
    [
      "google-ai-studio/v1beta/models/gemini-2.5-flash:generateContent",
      { tools: [{ function_declarations: [] }, { codeExecution: {} }, { urlContext: {} }] },
    ],
  ])("takes what costs its tokens: %s with %j", async (path, more) => {
    await limited([all]);
    expect((await send(path, { ...chat, model: "gpt-4o", ...more })).status).toBe(200);
  });

  it.each([
    ["?fields=candidates", {}],
    ["?alt=sse&%24fields=candidates", {}],
    ["?alt=proto", {}],
    ["", { "X-Goog-FieldMask": "candidates" }],
  ])("refuses an answer of Google without its usage: %s %j", async (query, headers) => {
    await limited([all]);
    const path = `google-ai-studio/v1beta/models/gemini-2.5-flash:generateContent${query}`;
    const answer = await send(path, chat, headers);
    expect([answer.status, (await errorOf(answer)).message]).toEqual([
      400,
      expect.stringContaining("tells what this request uses"),
    ]);
    expect((await send(path.split("?")[0]!, chat)).status).toBe(200);
  });

  it("does not take a read that asks for another method for free", async () => {
    await limited([all]);
    const headers = { "x-http-method-override": "POST" };
    const answer = await gate.send("own/openai/v1/models", { method: "GET", headers });
    expect(answer.status).toBe(400);
  });

  describe("counts what has passed of a stream that is left before it tells its usage", () => {
    const pieces = (event: (text: string) => string): string[] =>
      Array.from({ length: 500 }, () => event("words"));
    const openai = (text: string): string =>
      `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
    const anthropic = (text: string): string =>
      `event: x\ndata: ${JSON.stringify({ type: "content_block_delta", delta: { type: "text_delta", text } })}\n\n`;
    const start = `event: message_start\ndata: ${JSON.stringify({ type: "message_start", message: { usage: { input_tokens: 8, output_tokens: 1 } } })}\n\n`;
    const responses = (delta: string): string =>
      `event: x\ndata: ${JSON.stringify({ type: "response.output_text.delta", delta })}\n\n`;
    const again = `event: x\ndata: ${JSON.stringify({ type: "response.output_text.done", text: "words".repeat(500) })}\n\n`;
    it.each([
      ["openai/chat/completions", "gpt-4o", pieces(openai), 10],
      ["anthropic/v1/messages", "claude-opus-4-5", [start, ...pieces(anthropic)], 25],
      ["openai/v1/responses", "gpt-4o", [...pieces(responses), again], 10],
    ])("%s", async (path, model, events, price) => {
      const usd = (tokens: number): number => (tokens * price) / 1e6;
      await limited([{ ...all, limit: usd(1000) }]);
      gate.transport.behave = () => streamReply(events, { ending: "hang" });
      const ask = (bound: object = {}) => send(path, { ...chat, model, stream: true, ...bound });
      const answer = await ask();
      const reader = answer.body!.getReader();
      let length = 0;
      const whole = events.join("").length;
      while (length < whole) length += (await reader.read()).value?.length ?? 0;
      await reader.cancel();
      await gate.logs("own", 1);
      // 500 pieces of 5 characters are 625 tokens, so the limit has fewer left than these.
      expect((await ask({ max_tokens: 600, max_output_tokens: 600 })).status).toBe(429);
    });
  });
});
