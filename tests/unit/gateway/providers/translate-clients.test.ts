import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anthropicTranslator } from "../../../../core/gateway/providers/anthropic/anthropic.ts";
import { chatFront } from "../../../../core/gateway/chat/formats/chat-reply.ts";
import { translateReply } from "../../../../core/gateway/chat/translate-reply.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { anyEventsOf } from "../../../fakes/gateway-formats.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

interface Member {
  readonly [name: string]: unknown;
}
const messages = [{ role: "user", content: "Hi" }];
const asking: Readonly<Record<string, object>> = {
  "chat/completions": { messages },
  messages: { messages, max_tokens: 64 },
  responses: { input: "Hi" },
};
const send = (format: string, model: string, more: object = {}): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ model, ...asking[format], ...more }));
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as Member;
const streaming = (events: readonly object[], last = "") => {
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  gate.transport.behave = () => streamReply([...lines, last]);
};
const answering = (body: object) => {
  gate.transport.behave = () => jsonReply(body);
};
const text = { content: [{ type: "text", text: "ok" }], stop_reason: "end_turn" };
const call = (id: string, name: string, args: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const tool = (name: string) => ({ type: "function", function: { name, parameters: {} } });

/** What Anthropic sends for two calls, of which the second has no arguments. */
const anthropicCalls = [
  { type: "message_start", message: { usage: { input_tokens: 10, cache_read_input_tokens: 3 } } },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", id: "t1", name: "f", input: {} },
  },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
  {
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json: '{"a":1}' },
  },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "t2", name: "g", input: {} },
  },
  { type: "content_block_stop", index: 1 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_details: null },
    usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: 5 },
  },
  { type: "message_stop" },
];

describe("a call without arguments", () => {
  it("has an empty object for them in a chat that is streamed", async () => {
    streaming(anthropicCalls);
    const chunks = await anyEventsOf(
      await send("chat/completions", "anthropic/c", { stream: true }),
    );
    const written = ["", ""];
    for (const { choices } of chunks as unknown as {
      choices: [{ delta: { tool_calls?: { index: 0 | 1; function: { arguments: string } }[] } }];
    }[]) {
      for (const { index, function: made } of choices[0].delta.tool_calls ?? [])
        written[index] += made.arguments;
    }
    expect(written).toEqual(['{"a":1}', "{}"]);
  });

  const openaiCall = { tool_calls: [{ index: 0, ...call("t", "g", "") }] };
  it("has one in a response and a message, streamed or not", async () => {
    streaming([{ choices: [{ delta: openaiCall, finish_reason: "tool_calls" }] }]);
    const events = await anyEventsOf(await send("responses", "mistral/m", { stream: true }));
    expect(events.map(({ type }) => type)).toContain("response.function_call_arguments.delta");
    expect(events.at(-1)?.["response"]).toMatchObject({ output: [{ name: "g", arguments: "{}" }] });
    const told = await anyEventsOf(await send("messages", "mistral/m", { stream: true }));
    expect(told).toContainEqual({
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: "{}" },
    });
    answering({ choices: [{ message: { tool_calls: [call("t", "g", "")] } }] });
    expect(await (await send("responses", "mistral/m")).json()).toMatchObject({
      output: [{ arguments: "{}" }],
    });
  });
});

describe("Anthropic's usage in a stream", () => {
  it("keeps what a null comes after", async () => {
    streaming(anthropicCalls);
    const stream_options = { include_usage: true };
    const asked = { stream: true, stream_options };
    const chunks = await anyEventsOf(await send("chat/completions", "anthropic/c", asked));
    expect(chunks.at(-1)).toMatchObject({
      usage: {
        prompt_tokens: 13,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 3 },
      },
    });
  });
});

describe("whole calls of one index", () => {
  it("are several calls when they have several ids", async () => {
    const called = (id: string, name: string) => ({
      choices: [{ delta: { tool_calls: [{ index: 0, ...call(id, name, `{"${id}":1}`) }] } }],
    });
    const end = { choices: [{ delta: {}, finish_reason: "tool_calls" }] };
    streaming([called("a", "f"), called("b", "g"), end]);
    const events = await anyEventsOf(await send("responses", "mistral/m", { stream: true }));
    expect(events.at(-1)?.["response"]).toMatchObject({
      output: [
        { call_id: "a", name: "f", arguments: '{"a":1}' },
        { call_id: "b", name: "g", arguments: '{"b":1}' },
      ],
    });
  });
});

describe("an error in the midst of a stream", () => {
  it("has been told for a while before the stream breaks, so that clients read it", async () => {
    const slept: number[] = [];
    const sleep = (ms: number): Promise<void> => Promise.resolve(void slept.push(ms));
    const given = { model: "c", messages };
    const translation = {
      front: chatFront,
      translator: anthropicTranslator,
      chat: chatFront.read(given),
      given,
    };
    const failed = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    const native = streamReply([`data: ${JSON.stringify(failed)}\n\n`]);
    const { body } = await translateReply(translation, native, { ...gate.platform.system, sleep });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain("Overloaded");
    expect(slept).toEqual([]);
    await expect(reader.read()).rejects.toThrow();
    expect(slept).toEqual([200]);
  });
});

describe("a choice of allowed tools", () => {
  it("offers no others, in chats and responses", async () => {
    answering(text);
    const choice = { mode: "required", tools: [{ type: "function", function: { name: "g" } }] };
    await send("chat/completions", "anthropic/c", {
      tools: [tool("f"), tool("g")],
      tool_choice: { type: "allowed_tools", allowed_tools: choice },
    });
    expect(sentBody()).toMatchObject({ tools: [{ name: "g" }], tool_choice: { type: "any" } });
    await send("responses", "anthropic/c", {
      tools: [
        { type: "function", name: "f" },
        { type: "function", name: "g" },
      ],
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: [{ type: "function", name: "f" }],
      },
    });
    expect(sentBody()).toMatchObject({ tools: [{ name: "f" }], tool_choice: { type: "auto" } });
  });
});

describe("one call at a time, which some providers cannot be told", () => {
  const tools = [tool("f"), tool("g")];
  const calls = ["f", "g"].map((name) => ({ functionCall: { name, args: {} } }));
  const gemini = { candidates: [{ content: { parts: calls }, finishReason: "STOP" }] };

  it("is the first call of Gemini's, streamed or not", async () => {
    const model = "google-ai-studio/gemini-2.5-flash";
    const names = async (more: object): Promise<string[]> => {
      answering(gemini);
      const whole = await send("chat/completions", model, { tools, ...more });
      const { choices } = (await whole.json()) as {
        choices: { message: { tool_calls: ReturnType<typeof call>[] } }[];
      };
      streaming([gemini], "");
      const streamed = await send("responses", model, { ...flat, ...more, stream: true });
      const { response } = (await anyEventsOf(streamed)).at(-1) as {
        response?: { output: { name: string }[] };
      };
      return [
        ...choices.flatMap(({ message }) => message.tool_calls.map((one) => one.function.name)),
        ...(response?.output ?? []).map(({ name }) => name),
      ];
    };
    const flat = { tools: tools.map(({ function: { name } }) => ({ type: "function", name })) };
    expect(await names({ parallel_tool_calls: false })).toEqual(["f", "f"]);
    expect(await names({})).toEqual(["f", "g", "f", "g"]);
  });
});

describe("a refusal", () => {
  it("of Anthropic's says why, streamed or not", async () => {
    const stop_details = { type: "refusal", category: "cyber", explanation: "Too risky" };
    answering({ content: [], stop_reason: "refusal", stop_details });
    expect(await (await send("chat/completions", "anthropic/c")).json()).toMatchObject({
      choices: [
        { message: { content: null, refusal: "Too risky" }, finish_reason: "content_filter" },
      ],
    });
    streaming([
      { type: "message_start", message: {} },
      { type: "message_delta", delta: { stop_reason: "refusal", stop_details }, usage: {} },
      { type: "message_stop" },
    ]);
    const chunks = await anyEventsOf(
      await send("chat/completions", "anthropic/c", { stream: true }),
    );
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ delta: { refusal: "Too risky" }, finish_reason: "content_filter" }],
    });
  });

  it("is told in a message's stop_details, and there are none without one", async () => {
    answering({ choices: [{ message: { content: null, refusal: "No." }, finish_reason: "stop" }] });
    expect(await (await send("messages", "mistral/m")).json()).toMatchObject({
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "No." },
    });
    answering({ choices: [{ message: { content: "Yes" }, finish_reason: "stop" }] });
    expect(await (await send("messages", "mistral/m")).json()).toMatchObject({
      stop_reason: "end_turn",
      stop_details: null,
    });
  });

  it("of an earlier turn stays in the conversation", async () => {
    answering(text);
    const refused = { role: "assistant", content: null, refusal: "No.", audio: null };
    const asked = [...messages, refused, { role: "user", content: "Why?" }];
    await send("chat/completions", "anthropic/c", { messages: asked });
    expect(sentBody()["messages"]).toMatchObject([
      { role: "user" },
      { role: "assistant", content: [{ type: "text", text: "No." }] },
      { role: "user" },
    ]);
  });
});

describe("a chat for another provider", () => {
  it.each([
    [{ moderation: { model: "m" } }, "moderation"],
    [{ messages: [{ role: "assistant", audio: { id: "a" } }] }, "audio"],
    [
      { messages: [{ role: "assistant", function_call: { name: "f", arguments: "" } }] },
      "function_call",
    ],
  ])("is a 400 that names what has no place there: %j", async (more, named) => {
    const response = await send("chat/completions", "anthropic/c", more);
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(named)]);
  });
});

describe("a Claude model that thinks within a budget", () => {
  const model = "anthropic/claude-sonnet-4-5";
  const loop = [
    ...messages,
    { role: "assistant", content: null, tool_calls: [call("t", "f", "{}")] },
    { role: "tool", tool_call_id: "t", content: "r" },
  ];

  it("does not think behind calls whose thoughts the client has lost", async () => {
    answering(text);
    const ask = async (asked: object[]): Promise<unknown> => {
      const more = { messages: asked, reasoning_effort: "low" };
      await send("chat/completions", model, more);
      return sentBody()["thinking"];
    };
    const thinks = { type: "enabled", budget_tokens: 1024 };
    expect(await ask(loop)).toBeUndefined();
    expect(await ask([...loop, { role: "assistant", content: "r" }, ...messages])).toEqual(thinks);
    const reasoning_details = [{ type: "reasoning.text", text: "Hm", signature: "s" }];
    const kept = loop.map((one) =>
      one.role === "assistant" ? { ...one, reasoning_details } : one,
    );
    expect(await ask(kept)).toEqual(thinks);
  });

  it("gets more tokens for a higher effort, and no effort that nobody knows", async () => {
    answering(text);
    const budgets: unknown[] = [];
    for (const reasoning_effort of ["minimal", "high", "xhigh", "max"]) {
      await send("chat/completions", model, { reasoning_effort });
      budgets.push((sentBody()["thinking"] as Member)["budget_tokens"]);
    }
    expect(budgets).toEqual([1024, 16_384, 24_576, 32_000]);
    const odd = await send("chat/completions", model, { reasoning_effort: "toString" });
    expect(odd.status).toBe(400);
  });
});

describe("an effort above Gemini's highest", () => {
  it("is its highest", async () => {
    answering({ candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] });
    const asked: unknown[] = [];
    for (const name of ["gemini-3-pro", "gemini-2.5-flash"]) {
      await send("chat/completions", `google-ai-studio/${name}`, { reasoning_effort: "xhigh" });
      asked.push((sentBody()["generationConfig"] as Member)["thinkingConfig"]);
    }
    expect(asked).toEqual([{ thinkingLevel: "high" }, { thinkingBudget: 24_576 }]);
  });
});

describe("an answer in an encoding that nobody asked for", () => {
  const gzipped = async (value: string): Promise<Uint8Array> => {
    const zipped = new Blob([value]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Uint8Array(await new Response(zipped).arrayBuffer());
  };
  const encoded = (type: string, body: Uint8Array, status = 200) => {
    const headers = [
      ["content-type", type],
      ["content-encoding", "gzip"],
    ] as const;
    gate.transport.behave = () => ({ status, headers, body });
  };

  it("is read all the same: whole, streamed, and an error", async () => {
    encoded("application/json", await gzipped(JSON.stringify(text)));
    const whole = await send("chat/completions", "anthropic/c");
    expect(whole.headers.has("content-encoding")).toBe(false);
    expect(await whole.json()).toMatchObject({ choices: [{ message: { content: "ok" } }] });
    const events = anthropicCalls.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    encoded("text/event-stream", await gzipped(events));
    const chunks = await anyEventsOf(
      await send("chat/completions", "anthropic/c", { stream: true }),
    );
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });
    encoded("application/json", await gzipped('{"error":{"message":"zipped"}}'), 400);
    const failed = await send("chat/completions", "anthropic/c");
    expect([failed.status, await failed.json()]).toMatchObject([
      400,
      { error: { message: "zipped" } },
    ]);
  });

  it("is no answer when it is not what its header says", async () => {
    encoded("application/json", new TextEncoder().encode(JSON.stringify(text)));
    expect((await send("chat/completions", "anthropic/c")).status).toBe(502);
  });
});

describe("a call that another model made", () => {
  it.each(["gemini-3-pro", "gemini-flash-latest"])(
    "passes %s without a signature",
    async (name) => {
      answering({ candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] });
      const made = { role: "assistant", tool_calls: [call("t", "f", "{}")] };
      const asked = [...messages, made, { role: "tool", tool_call_id: "t", content: "r" }];
      await send("chat/completions", `google-ai-studio/${name}`, { messages: asked });
      expect((sentBody()["contents"] as unknown[])[1]).toMatchObject({
        parts: [{ thoughtSignature: "skip_thought_signature_validator" }],
      });
    },
  );
});
