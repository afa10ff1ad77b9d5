import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { ask, eventsOf } from "../../../fakes/gateway-native-answers.ts";
import { sseEvents } from "../../../../core/http/sse.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.bodies.length = 0;
});

const model = "anthropic/claude-x";
const send = (format: string, body: object): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ ...ask, model, ...body }));

/** What Claude answers between calls of tools when it may think in between (Anthropic, "Interleaved thinking"). */
const content = [
  { type: "thinking", thinking: "First", signature: "S1" },
  { type: "text", text: "Let me see." },
  { type: "redacted_thinking", data: "SECRET" },
  { type: "thinking", thinking: "Second", signature: "S2" },
  { type: "text", text: " One more." },
  { type: "thinking", thinking: "Third", signature: "S3" },
  { type: "tool_use", id: "t1", name: "weather", input: { city: "Bern" } },
  { type: "thinking", thinking: "Fourth", signature: "S4" },
  { type: "tool_use", id: "t2", name: "clock", input: {} },
];

const whole = (): void => {
  gate.transport.behave = () =>
    jsonReply({ id: "m1", model: "claude-x", content, stop_reason: "tool_use", usage: {} });
};

/** The same as a stream, as Anthropic sends it. */
const streamed = (): void => {
  const events: object[] = [{ type: "message_start", message: { id: "m1", usage: {} } }];
  content.forEach((block, index) => {
    const { type } = block;
    const piece = (delta: object): object => ({ type: "content_block_delta", index, delta });
    const empty: Record<string, unknown> = { ...block };
    for (const name of ["thinking", "signature", "text"]) if (name in empty) empty[name] = "";
    if (type === "tool_use") empty["input"] = {};
    events.push({ type: "content_block_start", index, content_block: empty });
    if ("thinking" in block) {
      events.push(piece({ type: "thinking_delta", thinking: block.thinking }));
      events.push(piece({ type: "signature_delta", signature: block.signature }));
    }
    if ("text" in block) events.push(piece({ type: "text_delta", text: block.text }));
    if ("input" in block)
      events.push(piece({ type: "input_json_delta", partial_json: JSON.stringify(block.input) }));
    events.push({ type: "content_block_stop", index });
  });
  events.push({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: {} });
  events.push({ type: "message_stop" });
  gate.transport.behave = () =>
    streamReply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
};

/** The assistant's blocks in the request that Anthropic gets. */
const sentBack = (): unknown => {
  const { messages } = JSON.parse(gate.transport.bodies.at(-1) ?? "null") as {
    messages: { role: string; content: object[] }[];
  };
  return messages.find(({ role }) => role === "assistant")?.content;
};

type Message = { content?: string; reasoning_details?: object[]; tool_calls?: { id: string }[] };

describe("thoughts between texts and calls", () => {
  it("keep their places through a chat", async () => {
    whole();
    const answer = (await (await send("chat/completions", {})).json()) as {
      choices: [{ message: Message }];
    };
    const { message } = answer.choices[0];
    expect(message).toMatchObject({
      content: "Let me see. One more.",
      reasoning_details: [{ index: 0 }, { index: 1 }, { index: 2 }, { index: 3 }, { index: 4 }],
    });
    await send("chat/completions", { messages: [...ask.messages, message] });
    expect(sentBack()).toEqual(content);
  });

  it("keep their places through a streamed chat, whose details have numbers", async () => {
    streamed();
    const response = await send("chat/completions", { stream: true });
    // As OpenRouter's clients put a message together: texts are joined, details are listed by their numbers.
    const message = { role: "assistant", content: "", reasoning_details: [] as object[] };
    const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
    for await (const { data } of sseEvents(response.body!)) {
      if (data === "[DONE]") break;
      const { choices } = JSON.parse(data) as {
        choices: {
          delta: {
            content?: string;
            reasoning_details?: { index: number }[];
            tool_calls?: { index: number; id?: string; function: { arguments?: string } }[];
          };
        }[];
      };
      const { delta } = choices[0]!;
      message.content += delta.content ?? "";
      for (const detail of delta.reasoning_details ?? [])
        message.reasoning_details[detail.index] = detail;
      for (const { index, ...call } of delta.tool_calls ?? []) {
        if (call.id !== undefined) calls[index] = structuredClone(call) as never;
        else calls[index]!.function.arguments += call.function.arguments ?? "";
      }
    }
    expect(message.reasoning_details).toHaveLength(5);
    await send("chat/completions", {
      messages: [...ask.messages, { ...message, tool_calls: calls }],
    });
    expect(sentBack()).toEqual(content);
  });

  const items = [
    "reasoning",
    "message",
    "reasoning",
    "reasoning",
    "message",
    "reasoning",
    "function_call",
    "reasoning",
    "function_call",
  ];

  it("keep their places through a response, whole and streamed", async () => {
    whole();
    const answer = (await (await send("responses", { input: "Hi" })).json()) as {
      output: { type: string }[];
    };
    expect(answer.output.map(({ type }) => type)).toEqual(items);
    await send("responses", { input: [{ role: "user", content: "Hi" }, ...answer.output] });
    expect(sentBack()).toEqual(content);

    streamed();
    const events = await eventsOf(await send("responses", { input: "Hi", stream: true }));
    const { output } = events.at(-1)!["response"] as typeof answer;
    expect(output.map(({ type }) => type)).toEqual(items);
    await send("responses", { input: [{ role: "user", content: "Hi" }, ...output] });
    expect(sentBack()).toEqual(content);
  });

  it("keep their places where a model that was asked for a stream answers in one piece", async () => {
    whole();
    const events = await eventsOf(await send("responses", { input: "Hi", stream: true }));
    const { output } = events.at(-1)!["response"] as { output: { type: string }[] };
    expect(output.map(({ type }) => type)).toEqual(items);
  });

  it("stand in front where a client's history has no places, or wrong ones", async () => {
    whole();
    const detail = { type: "reasoning.text", text: "First", signature: "S1" };
    const wrong = { ...detail, after: { text: 1e6, calls: -1.5 } };
    const said = { role: "assistant", content: "Hello" };
    for (const [details, expected] of [
      [[detail], ["thinking", "text"]],
      [[wrong], ["text", "thinking"]],
      [[{ ...detail, after: "x" }], ["thinking", "text"]],
    ] as const) {
      const message = { ...said, reasoning_details: details };
      await send("chat/completions", { messages: [...ask.messages, message] });
      expect((sentBack() as { type: string }[]).map(({ type }) => type)).toEqual(expected);
    }
  });
});
