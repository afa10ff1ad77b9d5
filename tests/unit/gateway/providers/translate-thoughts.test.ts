import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { ask, native } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
});

const send = (format: string, body: object, headers: Record<string, string> = {}) =>
  gate.send(`open/compat/${format}`, jsonInit(body, headers));
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as never;
const answer = (reply: object) => {
  gate.transport.behave = () => jsonReply(reply);
};
const streaming = (events: readonly object[], last = "data: [DONE]\n\n") => {
  gate.transport.behave = () =>
    streamReply([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), last]);
};

/** A conversation in Anthropic's format whose model has thought before it called a tool. */
const messagesOf = (model: string): object => ({
  model,
  messages: [
    ...ask.messages,
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm", signature: "" },
        { type: "tool_use", id: "t1", name: "clock", input: {} },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "noon" }] },
  ],
});

describe("a chat's thoughts", () => {
  const chat = (more: object) => send("chat/completions", { messages: ask.messages, ...more });

  it("stand beside the text, and go back to the provider that signed them", async () => {
    answer(native.anthropic.reply);
    const model = "anthropic/claude-x";
    const body = (await (await chat({ model })).json()) as { choices: [{ message: object }] };
    const { message } = body.choices[0];
    expect(message).toMatchObject({
      content: "Hello",
      reasoning_content: "Hm",
      reasoning_details: [{ type: "reasoning.text", text: "Hm", signature: "SIG" }],
    });
    await chat({ model, messages: [...ask.messages, message] });
    expect(sentBody()).toMatchObject({
      messages: [
        {},
        { content: [{ type: "thinking", thinking: "Hm", signature: "SIG" }, {}, {}, {}] },
      ],
    });
  });

  it("go back beside its calls to a provider that wants them unsigned, and to no other", async () => {
    answer(native.openai.reply);
    const [{ message }] = native.openai.reply.choices;
    const history = [...ask.messages, { role: "assistant", ...message }];
    await send("messages", { max_tokens: 9, ...messagesOf("deepseek/d") });
    expect(sentBody()).toMatchObject({ messages: [{}, { reasoning_content: "Hm" }, {}] });
    await send("messages", { max_tokens: 9, ...messagesOf("mistral/m") });
    expect(gate.transport.bodies.at(-1)).not.toContain("reasoning");
    // A chat for a provider of chats stays as its client wrote it.
    for (const model of ["deepseek/d", "groq/g"]) {
      await chat({ model, messages: history });
      expect(sentBody()).toMatchObject({ messages: [{}, { reasoning_content: "Hm" }] });
    }
  });

  it("are streamed", async () => {
    streaming(native.anthropic.events, "");
    const text = await (await chat({ model: "anthropic/claude-x", stream: true })).text();
    expect(text).toContain('"reasoning_content":"Hm"');
    expect(text).toContain('"signature":"SIG"');
    expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
  });

  it.each([
    [
      "anthropic/claude-opus-5",
      "low",
      { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    ],
    [
      "anthropic/claude-sonnet-4-5-20250929",
      "medium",
      { thinking: { type: "enabled", budget_tokens: 4096 }, max_tokens: 8192 },
    ],
    ["anthropic/claude-opus-5", "none", { thinking: { type: "disabled" } }],
    [
      "google-ai-studio/gemini-2.5-flash",
      "none",
      { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    ],
    [
      "google-ai-studio/gemini-3-pro",
      "high",
      { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } },
    ],
  ])("%s thinks with effort %s as %j", async (model, effort, body) => {
    answer({});
    await chat({ model, reasoning_effort: effort });
    expect(sentBody()).toMatchObject(body);
  });

  it("leave no room for themselves in a short answer", async () => {
    answer({});
    await chat({
      model: "anthropic/claude-3-7-sonnet-latest",
      reasoning_effort: "high",
      max_tokens: 100,
    });
    expect(sentBody()).toEqual({
      model: "claude-3-7-sonnet-latest",
      max_tokens: 100,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    });
  });
});
