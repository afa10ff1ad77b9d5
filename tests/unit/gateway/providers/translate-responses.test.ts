import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sseEvents } from "../../../../core/http/sse.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import {
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
      output_config: {
        effort: "high",
        format: { type: "json_schema", schema: { ...parameters, additionalProperties: false } },
      },
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
    const model = "anthropic/claude-sonnet-4-5";
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
    expect(last).toMatchObject({
      type: "response.failed",
      response: { status: "failed", error: { message: "Overloaded" } },
    });
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
    [{ tools: [{ type: "web_search" }] }, 'tools: \\"web_search\\"'],
    [{ include: ["message.output_text.logprobs"] }, "include message.output_text.logprobs"],
    [{ truncation: "middle" }, "truncation middle"],
    [{ input: [{ type: "computer_call", id: "x" }] }, "input.0.type"],
    [
      {
        input: [
          { role: "user", content: "x" },
          { type: "item_reference", id: "x" },
        ],
      },
      "store: false",
    ],
    [{ input: [{ type: "compaction", encrypted_content: "E" }] }, 'an item \\"compaction\\"'],
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
