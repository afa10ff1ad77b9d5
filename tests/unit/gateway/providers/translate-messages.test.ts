import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";
import {
  type StreamEvent,
  ask,
  eventsOf,
  native,
  parameters,
  providers,
} from "../../../fakes/gateway-native-answers.ts";

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
const sentUrl = () => gate.transport.requests.at(-1)?.url;
const answer = (reply: object) => {
  gate.transport.behave = () => jsonReply(reply);
};
const streaming = (events: readonly object[], last = "data: [DONE]\n\n") => {
  gate.transport.behave = () =>
    streamReply([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), last]);
};

describe("a message, answered by a provider of another format", () => {
  const expected = [
    { type: "thinking", thinking: "Hm" },
    { type: "text", text: "Hello" },
    { type: "tool_use", name: "weather", input: { city: "Bern" } },
    { type: "tool_use", name: "clock", input: {} },
  ];
  const usage = {
    input_tokens: 6,
    cache_read_input_tokens: 4,
    cache_creation_input_tokens: 0,
    output_tokens: 6,
  };

  it.each(providers.filter(([name]) => name !== "anthropic"))(
    "%s: thoughts, text, calls and usage are there, whole and streamed",
    async (_, { model, reply, events }) => {
      answer(reply);
      const whole = (await (await send("messages", { ...ask, model })).json()) as object;
      const shape = { type: "message", role: "assistant", stop_sequence: null };
      expect(whole).toMatchObject({ ...shape, content: expected, stop_reason: "tool_use", usage });

      streaming(events);
      const told = await eventsOf(await send("messages", { ...ask, model, stream: true }));
      expect(told[0]).toMatchObject({ type: "message_start", message: { ...shape, content: [] } });
      expect(told.slice(-2)).toMatchObject([
        { type: "message_delta", delta: { stop_reason: "tool_use" }, usage },
        { type: "message_stop" },
      ]);
      expect(blocksOf(told)).toMatchObject(expected);
    },
  );

  /** Puts the blocks of a stream together, and checks that one at a time is open. */
  function blocksOf(told: readonly StreamEvent[]): object[] {
    const blocks: Record<string, string>[] = [];
    let open = -1;
    for (const event of told) {
      const index = event["index"] as number;
      if (event.type === "content_block_start") {
        expect([open, index]).toEqual([-1, blocks.length]);
        blocks.push({ ...(event["content_block"] as Record<string, string>) });
        open = index;
      } else if (event.type === "content_block_delta") {
        expect(index).toBe(open);
        const { type: _, partial_json: json, ...delta } = event["delta"] as Record<string, string>;
        const block = blocks[index] ?? {};
        for (const [key, piece] of Object.entries(delta)) block[key] += piece;
        if (json !== undefined) block["json"] = (block["json"] ?? "") + json;
      } else if (event.type === "content_block_stop") open = -1;
    }
    expect(open).toBe(-1);
    return blocks.map(({ json, ...block }) =>
      json === undefined ? block : { ...block, input: JSON.parse(json) as object },
    );
  }

  const conversation = {
    max_tokens: 50,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    stop_sequences: ["END"],
    temperature: 0.5,
    metadata: { user_id: "u" },
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "QUJD" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "" },
          { type: "text", text: "I ask" },
          { type: "tool_use", id: "t1", name: "weather", input: { city: "Bern" } },
          { type: "tool_use", id: "t2", name: "clock", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "sunny" }] },
          { type: "tool_result", tool_use_id: "t2", content: "broken", is_error: true },
          { type: "text", text: "And now?" },
        ],
      },
    ],
    tools: [
      { name: "weather", description: "d", input_schema: parameters },
      { name: "clock", input_schema: { type: "object" } },
    ],
    tool_choice: { type: "tool", name: "weather", disable_parallel_tool_use: true },
    output_config: { format: { type: "json_schema", schema: parameters } },
  };

  it("goes to OpenAI as a chat, with all that it says", async () => {
    answer(native.openai.reply);
    const body = {
      ...conversation,
      model: "openai/x",
      thinking: { type: "enabled", budget_tokens: 4096 },
    };
    await send("messages", { ...body, stream: true }, { "x-api-key": "sk-own" });
    expect(sentUrl()).toBe("https://api.openai.com/v1/chat/completions");
    const headers = sentHeaders(gate.transport.requests[0]);
    expect([headers["authorization"], headers["x-api-key"]]).toEqual(["Bearer sk-own", undefined]);
    const call = (id: string, name: string, args: string) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    });
    expect(sentBody()).toEqual({
      model: "x",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
          ],
        },
        {
          role: "assistant",
          content: "I ask",
          tool_calls: [call("t1", "weather", '{"city":"Bern"}'), call("t2", "clock", "{}")],
        },
        { role: "tool", tool_call_id: "t1", content: "sunny" },
        { role: "tool", tool_call_id: "t2", content: "broken" },
        { role: "user", content: "And now?" },
      ],
      max_completion_tokens: 50,
      temperature: 0.5,
      stop: ["END"],
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: "medium",
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema: parameters, strict: true },
      },
      tools: [
        { type: "function", function: { name: "weather", description: "d", parameters } },
        { type: "function", function: { name: "clock", parameters: { type: "object" } } },
      ],
      tool_choice: { type: "function", function: { name: "weather" } },
      parallel_tool_calls: false,
    });
  });

  it("goes to Gemini with an effort for its thinking budget, errors of tools and no lost signature", async () => {
    answer(native.gemini.reply);
    const body = {
      ...conversation,
      tool_choice: { type: "auto" },
      model: "google-ai-studio/gemini-3-pro",
      top_k: 5,
    };
    await send("messages", { ...body, thinking: { type: "enabled", budget_tokens: 2048 } });
    expect(sentUrl()).toContain("/v1beta/models/gemini-3-pro:generateContent");
    expect(sentBody()).toMatchObject({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        { role: "user", parts: [{ text: "Look" }, { inlineData: { data: "QUJD" } }] },
        {
          role: "model",
          parts: [
            { text: "I ask" },
            {
              functionCall: { name: "weather", args: { city: "Bern" } },
              thoughtSignature: "skip_thought_signature_validator",
            },
            { functionCall: { name: "clock", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "weather", response: { result: "sunny" } } },
            { functionResponse: { name: "clock", response: { error: "broken" } } },
            { text: "And now?" },
          ],
        },
      ],
      generationConfig: {
        topK: 5,
        stopSequences: ["END"],
        maxOutputTokens: 50,
        responseMimeType: "application/json",
        responseJsonSchema: parameters,
        thinkingConfig: { thinkingLevel: "low", includeThoughts: true },
      },
    });
  });

  it("turns a thinking budget into an effort where there are no budgets", async () => {
    answer(native.openai.reply);
    const thinking = { type: "enabled", budget_tokens: 10_000 };
    await send("messages", { ...ask, model: "openai/o3", thinking });
    expect(sentBody()).toMatchObject({ messages: ask.messages, reasoning_effort: "high" });
  });

  it("brings Gemini's signature back, when the client keeps the block as it is", async () => {
    answer(native.gemini.reply);
    const model = "google-ai-studio/gemini-3-pro";
    const { content } = (await (await send("messages", { ...ask, model })).json()) as {
      content: object[];
    };
    const messages = [...ask.messages, { role: "assistant", content }];
    await send("messages", { ...ask, model, messages });
    const { contents } = sentBody() as { contents: { parts: { thoughtSignature?: string }[] }[] };
    expect(contents[1]?.parts[1]?.thoughtSignature).toBe("SIG");
  });

  it("goes on as it is to a provider that takes messages", async () => {
    answer(native.anthropic.reply);
    await send("messages", { ...ask, model: "anthropic/claude-x", container: "c" });
    expect(sentUrl()).toBe("https://api.anthropic.com/v1/messages");
    expect(sentHeaders(gate.transport.requests[0])["anthropic-version"]).toBe("2023-06-01");
    expect(sentBody()).toEqual({ ...ask, model: "claude-x", container: "c" });
    await send("messages", { ...ask, model: "openrouter/a/b" });
    expect(sentUrl()).toBe("https://openrouter.ai/api/v1/messages");
  });

  it("tells errors in Anthropic's form", async () => {
    gate.transport.behave = () => jsonReply({ error: { message: "slow down" } }, 429);
    const response = await send("messages", { ...ask, model: "openai/gpt-x" });
    expect([response.status, await response.json()]).toEqual([
      429,
      { type: "error", error: { type: "rate_limit_error", message: "slow down" } },
    ]);
  });

  it("says that the model refused", async () => {
    const choices = [{ message: { content: null, refusal: "I won't" }, finish_reason: "stop" }];
    answer({ choices });
    expect(await (await send("messages", { ...ask, model: "openai/gpt-x" })).json()).toMatchObject({
      content: [{ type: "text", text: "I won't" }],
      stop_reason: "refusal",
    });
  });

  it.each([
    [{ mcp_servers: [{}] }, "mcp_servers"],
    [{ tools: [{ type: "web_search_20260209", name: "w" }] }, 'tools: \\"web_search_20260209\\"'],
    [
      { messages: [{ role: "user", content: [{ type: "container_upload" }] }] },
      "messages.0.content.0.type",
    ],
    [
      {
        messages: [
          { role: "user", content: [{ type: "image", source: { type: "file", file_id: "f" } }] },
        ],
      },
      "messages.0.content.0.source.type",
    ],
    [{ max_tokens: undefined }, "max_tokens"],
  ])("is a 400 that names what has no place elsewhere: %j", async (more, named) => {
    const response = await send("messages", { ...ask, model: "openai/gpt-x", ...more });
    const text = await response.text();
    expect([response.status, text]).toEqual([400, expect.stringContaining(named)]);
    expect(text).toContain("2019");
    expect(gate.transport.requests).toEqual([]);
  });
});
