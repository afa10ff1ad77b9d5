import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
});

const send = async (format: string, body: object) => {
  const response = await gate.send(`open/compat/${format}`, jsonInit(body));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
};
const sentText = () => gate.transport.bodies.at(-1) ?? "null";
const sentBody = () => JSON.parse(sentText()) as Record<string, never>;

const mark = { cache_control: { type: "ephemeral" } } as const;
const hour = { cache_control: { type: "ephemeral", ttl: "1h" } } as const;
const parameters = { type: "object", properties: {} };
const text = (said: string, more: object = {}) => ({ type: "text", text: said, ...more });
const image = (more: object = {}) => ({
  type: "image_url",
  image_url: { url: "data:image/png;base64,QUJD" },
  ...more,
});
const call = (id: string, more: object = {}) => ({
  id,
  type: "function",
  function: { name: "clock", arguments: "{}" },
  ...more,
});

/** A chat that is marked in every place. */
const marked = {
  ...hour,
  messages: [
    { role: "system", content: [text("Be brief."), text("The law.", hour)] },
    { role: "developer", content: "Be kind.", ...mark },
    { role: "user", content: [text("Look", mark), image(mark)] },
    { role: "assistant", content: [text("I ask", mark)], tool_calls: [call("t1", mark)] },
    { role: "tool", tool_call_id: "t1", content: [text("noon", mark)] },
    { role: "user", content: "And now?", ...mark },
  ],
  tools: [
    { type: "function", function: { name: "clock", parameters }, ...hour },
    { type: "function", function: { name: "weather", parameters, ...mark } },
  ],
};
const anthropicReply = {
  id: "m1",
  model: "claude-x",
  content: [text("Hi")],
  stop_reason: "end_turn",
  usage: {
    input_tokens: 6,
    cache_read_input_tokens: 4,
    cache_creation_input_tokens: 3,
    output_tokens: 2,
  },
};

describe("cache marks of a chat in OpenAI's format", () => {
  beforeEach(() => {
    gate.transport.behave = () => jsonReply(anthropicReply);
  });

  it("reach Anthropic where its format has them", async () => {
    await send("chat/completions", { ...marked, model: "anthropic/claude-x" });
    const source = { type: "base64", media_type: "image/png", data: "QUJD" };
    expect(sentBody()).toEqual({
      model: "claude-x",
      max_tokens: 4096,
      ...hour,
      system: [text("Be brief."), text("The law.", hour), text("Be kind.", mark)],
      messages: [
        { role: "user", content: [text("Look", mark), { type: "image", source, ...mark }] },
        {
          role: "assistant",
          content: [
            text("I ask", mark),
            { type: "tool_use", id: "t1", name: "clock", input: {}, ...mark },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: "noon", ...mark },
            text("And now?", mark),
          ],
        },
      ],
      tools: [
        { name: "clock", input_schema: parameters, ...hour },
        { name: "weather", input_schema: parameters, ...mark },
      ],
      tool_choice: { type: "auto" },
    });
  });

  it("of a whole message stand at its last block, and never at a thought", async () => {
    const reasoning_details = [{ type: "reasoning.text", text: "Hm", signature: "SIG" }];
    const thought = { type: "thinking", thinking: "Hm", signature: "SIG" };
    await send("chat/completions", {
      model: "anthropic/claude-x",
      messages: [
        { role: "user", content: [text("One"), text("two", hour)], ...mark },
        { role: "assistant", content: "Hi", tool_calls: [call("t1")], ...mark },
        { role: "tool", tool_call_id: "t1", content: "noon", ...hour },
        { role: "assistant", content: "", reasoning_details, ...mark },
        { role: "user", content: "", ...mark },
      ],
    });
    expect(sentBody()["messages"]).toEqual([
      { role: "user", content: [text("One"), text("two", hour)] },
      {
        role: "assistant",
        content: [text("Hi"), { type: "tool_use", id: "t1", name: "clock", input: {}, ...mark }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "t1", content: "noon", ...hour }],
      },
      { role: "assistant", content: [thought] },
    ]);
  });

  it("that are none change nothing", async () => {
    for (const cache_control of [null, true, "ephemeral", [], {}]) {
      await send("chat/completions", {
        model: "anthropic/claude-x",
        cache_control,
        messages: [
          { role: "system", content: [text("Be ", { cache_control }), text("brief.")] },
          { role: "user", content: [text("Hi", { cache_control })], cache_control },
        ],
      });
      expect(sentBody()).toEqual({
        model: "claude-x",
        max_tokens: 4096,
        system: "Be brief.",
        messages: [{ role: "user", content: [text("Hi")] }],
      });
    }
  });

  it("are kept from Gemini", async () => {
    gate.transport.behave = () =>
      jsonReply({ candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }] });
    await send("chat/completions", { ...marked, model: "google-ai-studio/gemini-x" });
    expect(sentText()).not.toContain("cache_control");
  });
});

describe("cache marks in other formats", () => {
  const responses = {
    ...mark,
    input: [
      { role: "system", content: [{ type: "input_text", text: "The law.", ...hour }] },
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look", ...mark },
          { type: "input_image", image_url: "data:image/png;base64,QUJD", ...mark },
        ],
      },
    ],
    tools: [{ type: "function", name: "clock", parameters, ...hour }],
  };

  it("reach Anthropic from OpenAI's responses", async () => {
    gate.transport.behave = () => jsonReply(anthropicReply);
    await send("responses", { ...responses, model: "anthropic/claude-x" });
    const source = { type: "base64", media_type: "image/png", data: "QUJD" };
    expect(sentBody()).toMatchObject({
      ...mark,
      system: [text("The law.", hour)],
      messages: [
        { role: "user", content: [text("Look", mark), { type: "image", source, ...mark }] },
      ],
      tools: [{ name: "clock", ...hour }],
    });
  });

  it("are kept from providers that know them in no format", async () => {
    gate.transport.behave = () =>
      jsonReply({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] });
    await send("responses", { ...responses, model: "deepseek/deepseek-chat" });
    expect(sentText()).not.toContain("cache_control");
    await send("messages", { ...messages, model: "openai/gpt-x" });
    expect(sentText()).not.toContain("cache_control");
  });

  const messages = {
    ...mark,
    max_tokens: 9,
    system: [text("The law.", hour)],
    messages: [{ role: "user", content: [text("Hi", mark)] }],
    tools: [{ name: "clock", input_schema: parameters, ...hour }],
  };

  it("of a message to Anthropic, and of chats for providers of that format, stay as they are", async () => {
    gate.transport.behave = () => jsonReply(anthropicReply);
    await send("messages", { ...messages, model: "anthropic/claude-x" });
    expect(sentBody()).toEqual({ ...messages, model: "claude-x" });
    await send("chat/completions", { ...marked, model: "openrouter/anthropic/claude-x" });
    expect(sentBody()).toEqual({ ...marked, model: "anthropic/claude-x" });
  });
});

describe("tokens read from and written to a provider's cache", () => {
  const ask = (format: string, model: string, stream = false) =>
    send(format, {
      model,
      max_tokens: 9,
      ...(format === "responses"
        ? { input: "Hi" }
        : { messages: [{ role: "user", content: "Hi" }] }),
      ...(stream ? { stream } : {}),
      ...(stream && format === "chat/completions"
        ? { stream_options: { include_usage: true } }
        : {}),
    });
  const prompt_tokens_details = { cached_tokens: 4, cache_write_tokens: 3 };
  const anthropicStream = [
    { type: "message_start", message: { id: "m1", usage: { ...anthropicReply.usage } } },
    { type: "content_block_start", index: 0, content_block: text("") },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

  it("are told by Anthropic's answers as OpenAI tells them, whole and streamed", async () => {
    gate.transport.behave = () => jsonReply(anthropicReply);
    const chat = { prompt_tokens: 13, completion_tokens: 2, total_tokens: 15 };
    expect(JSON.parse(await ask("chat/completions", "anthropic/claude-x"))).toMatchObject({
      usage: { ...chat, prompt_tokens_details },
    });
    const told = {
      input_tokens: 13,
      input_tokens_details: prompt_tokens_details,
      output_tokens: 2,
      total_tokens: 15,
    };
    expect(JSON.parse(await ask("responses", "anthropic/claude-x"))).toMatchObject({ usage: told });
    gate.transport.behave = () => streamReply(anthropicStream);
    expect(usagesIn(await ask("chat/completions", "anthropic/claude-x", true)).at(-1)).toEqual({
      ...chat,
      prompt_tokens_details,
    });
    expect(usagesIn(await ask("responses", "anthropic/claude-x", true)).at(-1)).toMatchObject(told);
  });

  it("are told by other providers' answers as Anthropic tells them, whole and streamed", async () => {
    const usage = { prompt_tokens: 13, completion_tokens: 2, prompt_tokens_details };
    const told = {
      input_tokens: 6,
      cache_creation_input_tokens: 3,
      cache_read_input_tokens: 4,
      output_tokens: 2,
    };
    gate.transport.behave = () =>
      jsonReply({ choices: [{ message: { content: "Hi" }, finish_reason: "stop" }], usage });
    expect(JSON.parse(await ask("messages", "openai/gpt-x"))).toMatchObject({ usage: told });
    gate.transport.behave = () =>
      streamReply(
        [
          { choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] },
          { choices: [], usage },
        ].map((event) => `data: ${JSON.stringify(event)}\n\n`),
      );
    expect(usagesIn(await ask("messages", "openai/gpt-x", true)).at(-1)).toEqual(told);
    gate.transport.behave = () =>
      jsonReply({
        candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
        usageMetadata: {
          promptTokenCount: 13,
          cachedContentTokenCount: 4,
          candidatesTokenCount: 2,
          promptTokensDetails: [{ modality: "AUDIO", tokenCount: 5 }],
        },
      });
    expect(JSON.parse(await ask("chat/completions", "google-ai-studio/gemini-x"))).toMatchObject({
      usage: { prompt_tokens: 13, prompt_tokens_details: { cached_tokens: 4, audio_tokens: 5 } },
    });
    expect(JSON.parse(await ask("messages", "google-ai-studio/gemini-x"))).toMatchObject({
      usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 2 },
    });
  });
});

/** The usage that each event of a stream tells, in whatever place. */
function usagesIn(stream: string): unknown[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)) as { usage?: unknown; response?: { usage?: unknown } })
    .flatMap(({ usage, response }) => usage ?? response?.usage ?? []);
}
