import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sseEvents } from "../../../../core/http/sse.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "k" } },
  });
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

interface StreamEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}
/** The events of a stream, each of which repeats its type as its name. */
async function eventsOf(response: Response): Promise<StreamEvent[]> {
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
const parameters = { type: "object", properties: { city: { type: "string" } } };
const native = {
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
  "workers-ai": {
    model: "workers-ai/@cf/m",
    reply: {
      result: {
        choices: [
          {
            message: {
              content: "Hello",
              reasoning_content: "Hm",
              tool_calls: [
                { id: "t1", function: { name: "weather", arguments: '{"city":"Bern"}' } },
                { id: "t2", function: { name: "clock", arguments: "{}" } },
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
    },
    events: [
      { choices: [{ delta: { reasoning_content: "Hm" } }] },
      { response: "Hello" },
      {
        response: "",
        tool_calls: [
          { id: "t1", name: "weather", arguments: { city: "Bern" } },
          { id: "t2", name: "clock", arguments: {} },
        ],
      },
      {
        response: "",
        usage: {
          prompt_tokens: 10,
          completion_tokens: 6,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      },
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

const providers = Object.entries(native);
const answer = (reply: object) => {
  gate.transport.behave = () => jsonReply(reply);
};
const streaming = (events: readonly object[], last = "data: [DONE]\n\n") => {
  gate.transport.behave = () =>
    streamReply([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), last]);
};
const ask = { max_tokens: 64, messages: [{ role: "user", content: "Hi" }] };

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
      model: "openai/gpt-x",
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
      model: "gpt-x",
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

  it("goes to Gemini with its thinking budget, errors of tools and no lost signature", async () => {
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
        thinkingConfig: { thinkingBudget: 2048, includeThoughts: true },
      },
    });
  });

  it("turns a thinking budget into an effort where there are no budgets", async () => {
    answer(native["workers-ai"].reply);
    const thinking = { type: "enabled", budget_tokens: 10_000 };
    await send("messages", { ...ask, model: "workers-ai/@cf/m", thinking });
    expect(sentBody()).toEqual({ ...ask, reasoning_effort: "high" });
  });

  it("closes a stream whose provider mixes the pieces of two calls", async () => {
    const piece = (index: number, id: string, args: string) => ({
      choices: [
        { delta: { tool_calls: [{ index, id, function: { name: "f", arguments: args } }] } },
      ],
    });
    streaming([piece(0, "a", "{"), piece(1, "b", "{"), piece(0, "a", "}")]);
    const response = await send("messages", { ...ask, model: "openai/gpt-x", stream: true });
    await expect(response.text()).rejects.toThrow();
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
    [{ top_k: 3 }, "top_k"],
    [{ tools: [{ type: "web_search_20260209", name: "w" }] }, "tools.0.type"],
    [
      { messages: [{ role: "user", content: [{ type: "server_tool_use" }] }] },
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

describe("a response, answered by a provider of another format", () => {
  const input = "Hi";
  const expected = [
    { type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] },
    {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Hello", annotations: [] }],
    },
    { type: "function_call", name: "weather", arguments: '{"city":"Bern"}' },
    { type: "function_call", name: "clock", arguments: "{}" },
  ];
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 6,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 16,
  };

  it.each(providers.filter(([name]) => name !== "openai"))(
    "%s: thoughts, text, calls and usage are there, whole and streamed",
    async (_, { model, reply, events }) => {
      answer(reply);
      const asked = { model, input, metadata: { k: "v" } };
      const whole = (await (await send("responses", asked)).json()) as { output: { id: string }[] };
      const shape = { object: "response", status: "completed", metadata: { k: "v" }, error: null };
      expect(whole).toMatchObject({ ...shape, output: expected, usage });
      expect(new Set(whole.output.map(({ id }) => id)).size).toBe(4);

      streaming(events);
      const told = await eventsOf(await send("responses", { ...asked, stream: true }));
      expect(told.map((event) => event["sequence_number"])).toEqual([...told.keys()]);
      expect(told.map(({ type }) => type).slice(0, 2)).toEqual([
        "response.created",
        "response.in_progress",
      ]);
      expect(told.at(-1)).toMatchObject({
        type: "response.completed",
        response: { ...shape, output: expected, usage },
      });
      const done = told.filter(({ type }) => type === "response.output_item.done");
      expect(done.map((event) => event["item"])).toMatchObject(expected);
      const said = (type: string) =>
        told.flatMap((event) => (event.type === type ? [event["delta"] as string] : [])).join("");
      expect(said("response.output_text.delta")).toBe("Hello");
      expect(said("response.reasoning_summary_text.delta")).toBe("Hm");
      expect(said("response.function_call_arguments.delta")).toBe('{"city":"Bern"}{}');
    },
  );

  it("goes to Anthropic as messages, with all that it says", async () => {
    answer(native.anthropic.reply);
    await send("responses", {
      model: "anthropic/claude-opus-5",
      instructions: "Be brief.",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "Look" },
            { type: "input_image", image_url: "https://pictures.test/a.png" },
            {
              type: "input_file",
              file_data: "data:application/pdf;base64,QUJD",
              filename: "a.pdf",
            },
          ],
        },
        {
          type: "reasoning",
          id: "rs",
          summary: [{ type: "summary_text", text: "Hm" }],
          encrypted_content: "SIG",
        },
        { type: "reasoning", id: "rs", summary: [], encrypted_content: "hidden:DATA" },
        {
          type: "function_call",
          id: "fc",
          call_id: "t1",
          name: "weather",
          arguments: '{"city":"Bern"}',
        },
        { type: "function_call", call_id: "t2", name: "clock", arguments: "{}" },
        { type: "function_call_output", call_id: "t1", output: "sunny" },
        {
          type: "function_call_output",
          call_id: "t2",
          output: [{ type: "input_image", image_url: "data:image/png;base64,QUJD" }],
        },
      ],
      max_output_tokens: 2000,
      tools: [{ type: "function", name: "weather", parameters, strict: true }],
      tool_choice: "required",
      parallel_tool_calls: false,
      text: { format: { type: "json_schema", name: "n", schema: parameters } },
      reasoning: { effort: "high", summary: "auto" },
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    expect(sentUrl()).toBe("https://api.anthropic.com/v1/messages");
    expect(sentBody()).toEqual({
      model: "claude-opus-5",
      system: "Be brief.",
      max_tokens: 2000,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image", source: { type: "url", url: "https://pictures.test/a.png" } },
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "QUJD" },
              title: "a.pdf",
            },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm", signature: "SIG" },
            { type: "redacted_thinking", data: "DATA" },
            { type: "tool_use", id: "t1", name: "weather", input: { city: "Bern" } },
            { type: "tool_use", id: "t2", name: "clock", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: "sunny" },
            {
              type: "tool_result",
              tool_use_id: "t2",
              content: [
                {
                  type: "image",
                  source: { type: "base64", media_type: "image/png", data: "QUJD" },
                },
              ],
            },
          ],
        },
      ],
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high", format: { type: "json_schema", schema: parameters } },
      tools: [{ name: "weather", input_schema: parameters }],
      tool_choice: { type: "any", disable_parallel_tool_use: true },
    });
  });

  it("brings a thought back as it came, told or hidden", async () => {
    const thoughts = [
      { type: "thinking", thinking: "", signature: "SIG" },
      { type: "redacted_thinking", data: "DATA" },
    ];
    answer({ content: [...thoughts, { type: "text", text: "Hello" }], stop_reason: "end_turn" });
    const model = "anthropic/claude-x";
    const { output } = (await (await send("responses", { model, input })).json()) as {
      output: object[];
    };
    await send("responses", { model, input: [{ role: "user", content: input }, ...output] });
    expect(sentBody()).toMatchObject({
      messages: [{}, { role: "assistant", content: [...thoughts, { text: "Hello" }] }],
    });
  });

  it("goes on as it is to a provider that takes responses", async () => {
    answer({});
    for (const [model, url] of [
      ["openai/gpt-x", "https://api.openai.com/v1/responses"],
      ["groq/openai/gpt-oss-20b", "https://api.groq.com/openai/v1/responses"],
      ["grok/grok-4", "https://api.x.ai/v1/responses"],
    ]) {
      await send("responses", { model, input, previous_response_id: "r" });
      expect(sentUrl()).toBe(url);
      expect(sentBody()).toMatchObject({ input, previous_response_id: "r" });
    }
  });

  it.each([
    ["mistral/m", { max_tokens: 9, messages: ask.messages, model: "m", stream: true }],
    [
      "deepseek/d",
      {
        max_tokens: 9,
        messages: ask.messages,
        model: "d",
        stream: true,
        stream_options: { include_usage: true },
      },
    ],
  ])("goes to %s in its own dialect of chats", async (model, body) => {
    answer(native.openai.reply);
    await send("responses", { model, input, max_output_tokens: 9, stream: true });
    expect(sentBody()).toEqual(body);
  });

  it("is incomplete when it was cut short or filtered", async () => {
    for (const [stop, reason] of [
      ["max_tokens", "max_output_tokens"],
      ["refusal", "content_filter"],
    ]) {
      answer({ content: [{ type: "text", text: "Hel" }], stop_reason: stop });
      const response = await send("responses", { model: "anthropic/claude-x", input });
      expect(await response.json()).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason },
      });
    }
  });

  it("that broke off, or failed in its midst, is no complete one", async () => {
    const asked = { model: "anthropic/claude-x", input, stream: true };
    streaming(native.anthropic.events.slice(0, 8), "");
    await expect((await send("responses", asked)).text()).rejects.toThrow();
    streaming([
      ...native.anthropic.events.slice(0, 8),
      { type: "error", error: { message: "Overloaded" } },
    ]);
    const { body } = await send("responses", asked);
    let last: unknown;
    const drained = (async () => {
      for await (const { data } of sseEvents(body!)) last = JSON.parse(data);
    })();
    await expect(drained).rejects.toThrow();
    expect(last).toMatchObject({ type: "error", message: "Overloaded" });
  });

  it("tells errors in OpenAI's form", async () => {
    gate.transport.behave = () => jsonReply({ error: { message: "no such model" } }, 404);
    const response = await send("responses", { model: "google-ai-studio/x", input });
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { message: "no such model", type: "invalid_request_error" } },
    ]);
  });

  it.each([
    [{ previous_response_id: "r" }, "previous_response_id"],
    [{ background: true }, "background"],
    [{ tools: [{ type: "web_search" }] }, "tools.0.type"],
    [{ include: ["message.output_text.logprobs"] }, "include message.output_text.logprobs"],
    [{ text: { verbosity: "low" } }, "text.verbosity low"],
    [{ text: { format: { type: "json_object" } } }, "response_format json_object"],
    [{ truncation: "auto" }, "truncation auto"],
    [{ input: [{ type: "custom_tool_call", call_id: "x" }] }, "input.0.type"],
    [
      {
        input: [
          { role: "user", content: "x" },
          { type: "item_reference", id: "x" },
        ],
      },
      "store: false",
    ],
    [{ moderation: { model: "m" } }, "moderation"],
    [
      {
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "x" }],
        },
      },
      "tool_choice x",
    ],
    [
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
      "input.0.content.0.image_url",
    ],
    [{ input: 7 }, "input"],
  ])("is a 400 that names what has no place elsewhere: %j", async (more, named) => {
    const response = await send("responses", { model: "anthropic/claude-x", input, ...more });
    const text = await response.text();
    expect([response.status, text]).toEqual([400, expect.stringContaining(named)]);
    expect(text).toContain("2019");
    expect(gate.transport.requests).toEqual([]);
  });
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
