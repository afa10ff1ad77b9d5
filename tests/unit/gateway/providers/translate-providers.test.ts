import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import {
  anyEventsOf,
  askIn,
  chatChunk,
  greeting,
  streamedText,
  streamEvents,
} from "../../../fakes/gateway-formats.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const send = (format: string, more: object): Promise<Response> => askIn(gate, format, more);
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;

describe("a stream of OpenAI's format", () => {
  const model = "perplexity-ai/sonar";

  it.each(["messages", "responses"])(
    "that ends after its reason without [DONE] is whole, as %s",
    async (format) => {
      streamEvents(gate, [chatChunk({ content: "Hel" }), chatChunk({ content: "lo" }, "stop")]);
      expect(await streamedText(await send(format, { model, stream: true }))).toBe("Hello");
      streamEvents(gate, [chatChunk({ content: "Hel" }), chatChunk({ content: "lo" })]);
      await expect((await send(format, { model, stream: true })).text()).rejects.toThrow();
    },
  );

  it("gives a call's arguments as text, also where the provider gives an object", async () => {
    const call = { id: "t1", function: { name: "f", arguments: { city: "Bern" } } };
    gate.transport.behave = () => jsonReply({ choices: [{ message: { tool_calls: [call] } }] });
    const { output } = (await (await send("responses", { model })).json()) as { output: object[] };
    expect(output).toMatchObject([{ name: "f", arguments: '{"city":"Bern"}' }]);
  });
});

describe("usage in an answer of OpenAI's format", () => {
  it.each([
    // xAI: thoughts are beside the output, as the total tells.
    [
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      103,
    ],
    // OpenAI: within.
    [
      {
        prompt_tokens: 32,
        completion_tokens: 103,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      103,
    ],
    // Perplexity's deep research: in no sum at all.
    [
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 41,
        citation_tokens: 7,
        reasoning_tokens: 94,
      },
      103,
    ],
  ])("has all output tokens, thoughts included: %j", async (usage, output) => {
    gate.transport.behave = () => jsonReply({ choices: [{ message: { content: "Hi" } }], usage });
    const answer = await send("messages", { model: "grok/grok-4" });
    expect(await answer.json()).toMatchObject({
      usage: {
        input_tokens: 32,
        output_tokens: output,
        output_tokens_details: { thinking_tokens: 94 },
      },
    });
  });
});

describe("Gemini", () => {
  const model = "google-ai-studio/gemini-3-pro";
  const call = (id: string | undefined, city: string) => ({
    functionCall: { ...(id === undefined ? {} : { id }), name: "weather", args: { city } },
  });
  const candidate = (parts: object[], more: object = {}) => ({
    responseId: "g1",
    candidates: [{ content: { parts }, ...more }],
  });

  it("tells tokens of its own tools and of sound, and those of thoughts among the answer's", async () => {
    const usageMetadata = {
      promptTokenCount: 10,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 4 }],
      toolUsePromptTokenCount: 3,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 2,
    };
    gate.transport.behave = () => jsonReply({ ...candidate([{ text: "Hello" }]), usageMetadata });
    expect(await (await send("chat/completions", { model })).json()).toMatchObject({
      usage: {
        prompt_tokens: 13,
        prompt_tokens_details: { audio_tokens: 4 },
        completion_tokens: 7,
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  it("tells its usage in any event of a stream", async () => {
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4 };
    streamEvents(gate, [
      { ...candidate([{ text: "Hello" }]), usageMetadata },
      candidate([], { finishReason: "STOP" }),
    ]);
    const events = await anyEventsOf(await send("messages", { model, stream: true }));
    expect(events.at(-2)).toMatchObject({ usage: { input_tokens: 10, output_tokens: 4 } });
  });

  it("keeps the ids of its calls, and gives others to those without, streamed or not", async () => {
    const parts = [call("own", "Bern"), call(undefined, "Basel")];
    const ids = ["own", "call_g1_1"];
    gate.transport.behave = () => jsonReply(candidate(parts, { finishReason: "STOP" }));
    const { content } = (await (await send("messages", { model })).json()) as {
      content: { id: string }[];
    };
    expect(content.map(({ id }) => id)).toEqual(ids);
    streamEvents(gate, [
      candidate(parts.slice(0, 1)),
      candidate(parts.slice(1), { finishReason: "STOP" }),
    ]);
    const events = await anyEventsOf(await send("messages", { model, stream: true }));
    const begun = events.filter((event) => event["type"] === "content_block_start");
    expect(begun.map((event) => (event["content_block"] as { id: string }).id)).toEqual(ids);
  });

  it("shows no thoughts to who wants none, and knows a name that no URL can hold", async () => {
    gate.transport.behave = () => jsonReply(candidate([{ text: "Hello" }]));
    const thinking = { type: "adaptive", display: "omitted" };
    await send("messages", { model: `${model}\ud800`, thinking });
    expect(sentBody()).toMatchObject({ generationConfig: { maxOutputTokens: 64 } });
    expect(gate.transport.bodies.at(-1)).not.toContain("includeThoughts");
    expect(gate.transport.requests.at(-1)?.url).toContain("/models/gemini-3-pro%EF%BF%BD:generate");
  });

  it("learns which of two calls of a function a result is for", async () => {
    gate.transport.behave = () => jsonReply(candidate([{ text: "Hello" }]));
    const use = (id: string, city: string) => ({
      type: "tool_use",
      id,
      name: "weather",
      input: { city },
    });
    const result = (id: string, text: string) => ({
      type: "tool_result",
      tool_use_id: id,
      content: text,
    });
    await send("messages", {
      model,
      messages: [
        ...greeting,
        { role: "assistant", content: [use("a", "Bern"), use("b", "Basel")] },
        { role: "user", content: [result("b", "rain"), result("a", "sun")] },
      ],
    });
    expect(sentBody()).toMatchObject({
      contents: [
        {},
        { parts: [{ functionCall: { id: "a" } }, { functionCall: { id: "b" } }] },
        {
          parts: [
            { functionResponse: { id: "b", name: "weather", response: { result: "rain" } } },
            { functionResponse: { id: "a", name: "weather", response: { result: "sun" } } },
          ],
        },
      ],
    });
  });
});

describe("Anthropic", () => {
  const model = "anthropic/claude-x";

  it("gets the calls of another provider by ids that it takes", async () => {
    gate.transport.behave = () => jsonReply({ content: [] });
    const id = "functions.weather:0";
    const made = { id, type: "function", function: { name: "weather", arguments: "{}" } };
    await send("chat/completions", {
      model,
      messages: [
        ...greeting,
        { role: "assistant", content: null, tool_calls: [made] },
        { role: "tool", tool_call_id: id, content: "sun" },
      ],
    });
    expect(sentBody()).toMatchObject({
      messages: [
        {},
        { content: [{ type: "tool_use", id: "functions_weather_0" }] },
        { content: [{ type: "tool_result", tool_use_id: "functions_weather_0" }] },
      ],
    });
  });

  it("gets no file that is neither an address nor a data: URL", async () => {
    const file = { type: "file", file: { file_data: "JVBERi0xLjQ=" } };
    const content = [{ role: "user", content: [file] }];
    const response = await send("chat/completions", { model, messages: content });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("neither a data: nor an http(s) URL"),
    ]);
  });
});
