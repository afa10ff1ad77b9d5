import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sseData } from "../../../../core/http/sse.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { eventsOf } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const patch = '*** Begin Patch\n+"\\\n*** End Patch';
/** Tools as Codex sends them. */
const tools = [
  { type: "function", name: "shell", parameters: { type: "object" } },
  {
    type: "custom",
    name: "apply_patch",
    description: "Edits files.",
    format: { type: "grammar", syntax: "lark", definition: "start: begin" },
  },
];
const send = (body: object): Promise<Response> =>
  gate.send(
    "open/compat/responses",
    jsonInit({ model: "anthropic/claude-x", input: "Hi", tools, ...body }),
  );
const sentBody = (): unknown => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;
const call = (input: object) => ({ type: "tool_use", id: "t1", name: "apply_patch", input });

describe("a custom tool of a response", () => {
  const answered = { type: "custom_tool_call", call_id: "t1", name: "apply_patch", input: patch };

  it("is a function of one text, and its calls go both ways", async () => {
    gate.transport.behave = () =>
      jsonReply({ content: [call({ input: patch })], stop_reason: "tool_use" });
    const { output } = (await (await send({})).json()) as { output: [{ id: string }] };
    expect(output).toMatchObject([{ ...answered, status: "completed" }]);
    expect(output[0]).not.toHaveProperty("arguments");
    expect(output[0].id).toMatch(/^ctc_/);
    expect(sentBody()).toMatchObject({
      tools: [
        { name: "shell" },
        {
          name: "apply_patch",
          description: "Edits files.\n\nThe input has to match this lark grammar:\nstart: begin",
          input_schema: { properties: { input: { type: "string" } }, required: ["input"] },
        },
      ],
    });
    const result = { type: "custom_tool_call_output", call_id: "t1", output: "Done" };
    await send({ input: [{ role: "user", content: "Hi" }, ...output, result] });
    expect(sentBody()).toMatchObject({
      messages: [
        {},
        { content: [call({ input: patch })] },
        { content: [{ type: "tool_result", tool_use_id: "t1", content: "Done" }] },
      ],
    });
  });

  it("is told in a stream with its input, and not with JSON around it", async () => {
    const json = JSON.stringify({ input: patch });
    const piece = (text: string): object => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: text },
    });
    const events = [
      { type: "message_start", message: { id: "m", usage: {} } },
      { type: "content_block_start", index: 0, content_block: call({}) },
      piece(json.slice(0, 9)),
      piece(json.slice(9)),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ];
    gate.transport.behave = () =>
      streamReply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
    const told = await eventsOf(await send({ stream: true }));
    expect(told.slice(2)).toMatchObject([
      { type: "response.output_item.added", item: { ...answered, input: "" } },
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: patch },
      { type: "response.custom_tool_call_input.done", input: patch },
      { type: "response.output_item.done", item: answered },
      { type: "response.completed", response: { output: [answered] } },
    ]);
  });

  it("has what the model wrote as its input, where that is something else", async () => {
    gate.transport.behave = () =>
      jsonReply({ content: [call({ patch })], stop_reason: "tool_use" });
    const { output } = (await (await send({})).json()) as { output: [{ input: string }] };
    expect(JSON.parse(output[0].input)).toEqual({ patch });
  });

  it.each([
    [{ type: "custom", name: "apply_patch" }, 2],
    [
      {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "custom", name: "apply_patch" }],
      },
      1,
    ],
  ])("can be chosen: %j", async (choice, count) => {
    gate.transport.behave = () => jsonReply({ content: [] });
    const response = await send({ tool_choice: choice, text: { verbosity: "low" } });
    expect(response.status).toBe(200);
    expect((sentBody() as { tools: object[] }).tools).toHaveLength(count);
  });

  it("is refused by its name with a format that is not known", async () => {
    const odd = [{ type: "custom", name: "x", format: { type: "regex" } }];
    const response = await send({ tools: odd });
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      400,
      expect.stringContaining("tools.0.format.type"),
    ]);
  });
});

describe("a custom tool of a chat", () => {
  const shell = { type: "function", function: { name: "shell", parameters: { type: "object" } } };
  const grammar = { syntax: "lark", definition: "start: begin" };
  const applyPatch = {
    type: "custom",
    custom: {
      name: "apply_patch",
      description: "Edits files.",
      format: { type: "grammar", grammar },
    },
  };
  const called = { id: "t1", type: "custom", custom: { name: "apply_patch", input: patch } };
  const hi = { role: "user", content: "Hi" };
  const chat = (body: object = {}): Promise<Response> =>
    gate.send(
      "open/compat/chat/completions",
      jsonInit({
        model: "anthropic/claude-x",
        messages: [hi],
        tools: [shell, applyPatch],
        ...body,
      }),
    );
  const answering = (content: object[]): void => {
    gate.transport.behave = () => jsonReply({ content, stop_reason: "tool_use" });
  };
  const messageOf = async (response: Response): Promise<object> => {
    const { choices } = (await response.json()) as { choices: [{ message: object }] };
    return choices[0].message;
  };

  it("is a function of one text, and its calls go both ways", async () => {
    const plain = { type: "tool_use", id: "t2", name: "shell", input: { a: 1 } };
    answering([call({ input: patch }), plain]);
    const message = await messageOf(await chat());
    expect(message).toMatchObject({
      content: null,
      tool_calls: [called, { id: "t2", function: { name: "shell", arguments: '{"a":1}' } }],
    });
    expect(sentBody()).toMatchObject({
      tools: [
        { name: "shell" },
        {
          name: "apply_patch",
          description: "Edits files.\n\nThe input has to match this lark grammar:\nstart: begin",
          input_schema: { properties: { input: { type: "string" } }, required: ["input"] },
        },
      ],
    });
    const results = ["t1", "t2"].map((id) => ({ role: "tool", tool_call_id: id, content: "Ok" }));
    await chat({ messages: [hi, message, ...results] });
    expect(sentBody()).toMatchObject({
      messages: [{}, { content: [call({ input: patch }), plain] }, {}],
    });
  });

  it.each([[[patch.slice(0, 7), patch.slice(7)]], [[patch]]])(
    "is told in a stream in one piece: %j",
    async (pieces) => {
      const json = JSON.stringify({ input: pieces.join("") });
      const half = pieces.length === 1 ? json.length : 9;
      const delta = (index: number, text: string): object => ({
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json: text },
      });
      const start = (index: number, id: string, name: string): object => ({
        type: "content_block_start",
        index,
        content_block: { type: "tool_use", id, name, input: {} },
      });
      const stop = (index: number): object => ({ type: "content_block_stop", index });
      const events = [
        { type: "message_start", message: { id: "m", usage: {} } },
        start(0, "t1", "apply_patch"),
        delta(0, json.slice(0, half)),
        delta(0, json.slice(half)),
        stop(0),
        start(1, "t2", "shell"),
        delta(1, "{}"),
        stop(1),
        { type: "message_delta", delta: { stop_reason: "tool_use" } },
        { type: "message_stop" },
      ];
      gate.transport.behave = () =>
        streamReply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
      const told = await chatCallsOf(await chat({ stream: true }));
      expect(told).toEqual([
        { index: 0, ...called },
        { index: 1, id: "t2", type: "function", function: { name: "shell", arguments: "" } },
        { index: 1, function: { arguments: "{}" } },
      ]);
    },
  );

  it("is told with what there is of it, where the answer is cut off", async () => {
    const started = { type: "content_block_start", index: 0, content_block: call({}) };
    const partial = { type: "input_json_delta", partial_json: '{"input":"*** Be' };
    const events = [
      { type: "message_start", message: { id: "m", usage: {} } },
      started,
      { type: "content_block_delta", index: 0, delta: partial },
      { type: "message_delta", delta: { stop_reason: "max_tokens" } },
      { type: "message_stop" },
    ];
    gate.transport.behave = () =>
      streamReply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
    expect(await chatCallsOf(await chat({ stream: true }))).toMatchObject([
      { type: "custom", custom: { name: "apply_patch", input: '{"input":"*** Be' } },
    ]);
  });

  const named = { type: "custom", custom: { name: "apply_patch" } };
  it.each([
    [named, 2, { type: "tool", name: "apply_patch" }],
    [
      { type: "allowed_tools", allowed_tools: { mode: "required", tools: [named] } },
      1,
      { type: "any" },
    ],
  ])("can be chosen: %j", async (choice, count, sent) => {
    answering([]);
    const asked = { model: "anthropic/claude-haiku-4-5", tool_choice: choice, verbosity: "low" };
    expect((await chat(asked)).status).toBe(200);
    expect(sentBody()).toMatchObject({ tool_choice: sent });
    expect((sentBody() as { tools: object[] }).tools).toHaveLength(count);
  });

  it("keeps what Gemini wants back with its call", async () => {
    const made = { name: "apply_patch", args: { input: patch } };
    const part = { functionCall: made, thoughtSignature: "c2ln" };
    gate.transport.behave = () =>
      jsonReply({ candidates: [{ content: { parts: [part] }, finishReason: "STOP" }] });
    const model = "google-ai-studio/gemini-3-pro";
    const message = await messageOf(await chat({ model }));
    expect(message).toMatchObject({ tool_calls: [{ type: "custom", custom: called.custom }] });
    await chat({ model, messages: [hi, message] });
    expect(sentBody()).toMatchObject({ contents: [{}, { parts: [part] }] });
  });

  it("is refused by its name with a format that is not known", async () => {
    const odd = [{ type: "custom", custom: { name: "x", format: { type: "regex" } } }];
    const response = await chat({ tools: odd });
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      400,
      expect.stringContaining("tools.0.custom.format.type"),
    ]);
  });
});

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly tool_calls?: object[] } }[];
}

async function chatCallsOf(response: Response): Promise<object[]> {
  const lines = sseData(await response.text()).filter((data) => data !== "[DONE]");
  const choices = lines.flatMap((data) => (JSON.parse(data) as Chunk).choices);
  return choices.flatMap(({ delta }) => delta.tool_calls ?? []);
}
