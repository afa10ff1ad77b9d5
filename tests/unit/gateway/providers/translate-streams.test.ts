import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { streamReply } from "../../../fakes/gateway-transport.ts";
import { ask, eventsOf } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
});

const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const streaming = (events: readonly object[], last: string = "data: [DONE]\n\n"): void => {
  gate.transport.behave = () => streamReply([...events.map(data), last]);
};
const asked = (format: string, model: string): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ ...ask, model, input: "Hi", stream: true }));

/** One event of OpenAI's stream with pieces of calls. */
const calls = (...pieces: readonly object[]): object => ({
  choices: [{ index: 0, delta: { tool_calls: pieces } }],
});
const piece = (index: number, text: string | undefined, more: object = {}): object => ({
  index,
  ...more,
  function: { ...(text === undefined ? {} : { arguments: text }), ...("name" in more ? more : {}) },
});
const finish = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };

type Called = { name: string; id: string; text: string };

/** The calls of a stream of messages; one block at a time must be open. */
async function inMessages(): Promise<Called[]> {
  const blocks: Called[] = [];
  let open = -1;
  const events = await eventsOf(await asked("messages", "openai/gpt-x"));
  // Also where a call is the first thing that is said.
  expect(events[0]?.type).toBe("message_start");
  for (const event of events) {
    const {
      index,
      delta,
      content_block: block,
    } = event as never as {
      index: number;
      delta?: { partial_json?: string };
      content_block?: { name: string; id: string };
    };
    if (event.type === "content_block_start") {
      expect([open, index]).toEqual([-1, blocks.length]);
      blocks.push({ name: block?.name ?? "", id: block?.id ?? "", text: "" });
      open = index;
    } else if (event.type === "content_block_delta") {
      expect(index).toBe(open);
      blocks[index]!.text += delta?.partial_json ?? "";
    } else if (event.type === "content_block_stop") open = -1;
  }
  return blocks;
}

/** The calls of a stream of responses, by its last event. */
async function inResponses(): Promise<Called[]> {
  const events = await eventsOf(await asked("responses", "mistral/m"));
  const whole = events.at(-1) as never as {
    response: { output: { name: string; call_id: string; arguments: string }[] };
  };
  const told = events.filter(({ type }) => type === "response.function_call_arguments.done");
  const listed = whole.response.output;
  expect(told.map((event) => event["arguments"])).toEqual(listed.map((one) => one.arguments));
  return listed.map((one) => ({ name: one.name, id: one.call_id, text: one.arguments }));
}

const two = [
  { name: "f", id: "a", text: '{"x":"}\\""}' },
  { name: "g", id: "b", text: '{"y":[1,{}]}' },
];

describe.each([
  ["messages", inMessages],
  ["responses", inResponses],
])("tool calls of a chat's stream, as %s", (_, read) => {
  it.each([
    [
      "mixed",
      [
        calls(piece(0, '{"x":', { id: "a", name: "f" })),
        calls(piece(1, '{"y":', { id: "b", name: "g" })),
        calls(piece(0, '"}\\'), piece(1, "[1,")),
        calls(piece(0, '""}'), piece(1, "{}]}")),
      ],
    ],
    [
      "mixed to their ends",
      [
        calls(piece(0, '{"x":', { id: "a", name: "f" })),
        calls(piece(1, '{"y":[1,{}]}', { id: "b", name: "g" })),
        calls(piece(0, '"}\\""}')),
      ],
    ],
    [
      "whose names come late",
      [
        calls(piece(0, '{"x":"}', { id: "a" })),
        calls(piece(1, '{"y":', { id: "b" }), piece(0, '\\""}', { name: "f" })),
        calls(piece(1, "[1,{}]}", { name: "g" })),
      ],
    ],
    [
      "whose first names are empty, and whose ids come late",
      [
        calls(piece(0, "", { name: "" })),
        calls(piece(0, '{"x":"}\\""}', { id: "a", name: "f" })),
        calls(piece(1, undefined, { name: null })),
        calls(piece(1, '{"y":[1,{}]}', { id: "b", name: "g" })),
      ],
    ],
    [
      "with a gap in the index",
      [
        calls(piece(3, '{"x":"}\\""}', { id: "a", name: "f" })),
        calls(piece(7, '{"y":[1,{}]}', { id: "b", name: "g" })),
      ],
    ],
    [
      "of one index, each whole",
      [
        calls(piece(0, '{"x":"}\\""}', { id: "a", name: "f" })),
        calls(piece(0, '{"y":[1,{}]}', { id: "b", name: "g" })),
      ],
    ],
    [
      "beside one that is nothing",
      [
        calls(piece(0, '{"x":"}\\""}', { id: "a", name: "f" })),
        calls(piece(1, '{"y":[1,{}]}', { id: "b", name: "g" }), piece(2, "")),
      ],
    ],
  ])("come whole: calls %s", async (__, events) => {
    streaming([...events, finish]);
    expect(await read()).toEqual(two);
  });

  it("have empty arguments where none came, also between others", async () => {
    streaming([
      calls(piece(0, "", { id: "a", name: "f" })),
      calls(piece(1, '{"y":', { id: "b", name: "g" }), piece(2, "", { id: "c", name: "h" })),
      calls(piece(1, "1}")),
      finish,
    ]);
    expect((await read()).map(({ text }) => text)).toEqual(["{}", '{"y":1}', "{}"]);
  });

  it("are written as they arrive, once those before them are whole", async () => {
    const opening = calls(piece(0, '{"x":1}', { id: "a", name: "f" }));
    const next = calls(piece(1, '{"y":', { id: "b", name: "g" }));
    gate.transport.behave = () => streamReply([data(opening), data(next)], { ending: "hang" });
    const format = read === inMessages ? "messages" : "responses";
    const response = await asked(format, read === inMessages ? "openai/gpt-x" : "mistral/m");
    const reader = response.body!.getReader();
    let text = "";
    while (!text.includes('{\\"y\\":'))
      text += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
  });

  it.each([
    ["has no name", [calls(piece(0, '{"x":1}', { id: "a" })), finish]],
    [
      "goes on behind its end",
      [
        calls(piece(0, '{"x":1}', { id: "a", name: "f" })),
        calls(piece(1, "{", { id: "b", name: "g" })),
        calls(piece(0, ',"z":2}')),
        finish,
      ],
    ],
  ])("break a stream whose call %s", async (__, events) => {
    streaming(events);
    await expect(read()).rejects.toThrow();
  });
});

describe("tool calls of a message's stream, as a chat", () => {
  it("keep their numbers where their pieces are mixed", async () => {
    const start = (index: number, id: string): object => ({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id, name: id, input: {} },
    });
    const said = (index: number, text: string): object => ({
      type: "content_block_delta",
      index,
      delta: { type: "input_json_delta", partial_json: text },
    });
    streaming(
      [
        { type: "message_start", message: { id: "m", model: "claude-x", usage: {} } },
        start(2, "f"),
        start(5, "g"),
        said(2, '{"x"'),
        said(5, '{"y"'),
        said(2, ":1}"),
        said(5, ":2}"),
        { type: "content_block_stop", index: 5 },
        { type: "content_block_stop", index: 2 },
        { type: "message_delta", delta: { stop_reason: "tool_use" } },
        { type: "message_stop" },
      ],
      "",
    );
    const text = await (await asked("chat/completions", "anthropic/claude-x")).text();
    const whole: Record<number, string> = {};
    for (const [, json = ""] of text.matchAll(/^data: (\{.*\})$/gm)) {
      const { choices } = JSON.parse(json) as {
        choices: { delta: { tool_calls?: { index: number; function: { arguments: string } }[] } }[];
      };
      for (const call of choices[0]?.delta.tool_calls ?? [])
        whole[call.index] = (whole[call.index] ?? "") + call.function.arguments;
    }
    expect(whole).toEqual({ 0: '{"x":1}', 1: '{"y":2}' });
  });
});
