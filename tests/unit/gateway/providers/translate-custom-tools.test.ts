import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
