import { afterAll, beforeAll, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { eventsOf } from "../../../fakes/gateway-native-answers.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const messages = [{ role: "user", content: "Hi" }];
const send = (format: string, body: object): Promise<Response> =>
  gate.send(`open/compat/${format}`, jsonInit({ messages, max_tokens: 2, ...body }));
const answering = (reply: object): void => {
  gate.transport.behave = () => jsonReply(reply);
};
const streaming = (...events: readonly object[]): void => {
  gate.transport.behave = () =>
    streamReply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`));
};

it("a message that its limit of tokens cut says so, whole and streamed", async () => {
  const model = "openai/gpt-x";
  answering({ choices: [{ message: { content: "Hel" }, finish_reason: "length" }] });
  expect(await (await send("messages", { model })).json()).toMatchObject({
    content: [{ type: "text", text: "Hel" }],
    stop_reason: "max_tokens",
  });
  streaming(
    { choices: [{ index: 0, delta: { content: "Hel" } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
  );
  const events = await eventsOf(await send("messages", { model, stream: true }));
  expect(events.findLast(({ type }) => type === "message_delta")).toMatchObject({
    delta: { stop_reason: "max_tokens" },
  });
});

it("a chat that its limit of tokens cut says so, whole and streamed", async () => {
  const model = "anthropic/claude-x";
  const text = { type: "text", text: "Hel" };
  answering({ content: [text], stop_reason: "max_tokens" });
  expect(await (await send("chat/completions", { model })).json()).toMatchObject({
    choices: [{ message: { content: "Hel" }, finish_reason: "length" }],
  });
  streaming(
    { type: "message_start", message: { id: "m", usage: {} } },
    { type: "content_block_start", index: 0, content_block: { ...text, text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: {} },
    { type: "message_stop" },
  );
  const told = await (await send("chat/completions", { model, stream: true })).text();
  expect(told).toContain('"finish_reason":"length"');
  expect(told.trimEnd().endsWith("data: [DONE]")).toBe(true);
});

it.each([
  // As vLLM and SGLang name it; a number is a token of the model's own.
  [{ stop_reason: "END" }, { stop_reason: "stop_sequence", stop_sequence: "END" }],
  [{ matched_stop: "END" }, { stop_reason: "stop_sequence", stop_sequence: "END" }],
  [
    { matched_stop: 151645, stop_reason: "stop" },
    { stop_reason: "end_turn", stop_sequence: null },
  ],
])("a message says which stop sequence ended it: %j", async (named, told) => {
  const asked = { model: "groq/llama", stop_sequences: ["END"] };
  const ending = { finish_reason: "stop", ...named };
  const whole = { choices: [{ message: { content: "Hel" }, ...ending }] };
  answering(whole);
  expect(await (await send("messages", asked)).json()).toMatchObject(told);
  const end = (events: Awaited<ReturnType<typeof eventsOf>>): unknown =>
    events.findLast(({ type }) => type === "message_delta");
  const atOnce = await eventsOf(await send("messages", { ...asked, stream: true }));
  expect(end(atOnce)).toMatchObject({ delta: told });
  streaming({ choices: [{ index: 0, delta: { content: "Hel" }, ...ending }] });
  const streamed = await eventsOf(await send("messages", { ...asked, stream: true }));
  expect(end(streamed)).toMatchObject({ delta: told });
});

it("a message with calls says so, also where its provider only says that it stopped", async () => {
  const asked = { model: "groq/llama" };
  const call = { index: 0, id: "t1", function: { name: "f", arguments: "{}" } };
  answering({ choices: [{ message: { tool_calls: [call] }, finish_reason: "stop" }] });
  expect(await (await send("messages", asked)).json()).toMatchObject({ stop_reason: "tool_use" });
  streaming(
    { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: "" }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  );
  const events = await eventsOf(await send("messages", { ...asked, stream: true }));
  expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
});

it("an empty reason with an event of a stream is not its end", async () => {
  streaming({ choices: [{ index: 0, delta: { content: "Hel" }, finish_reason: "" }] });
  const response = await send("messages", { model: "groq/llama", stream: true });
  await expect(response.text()).rejects.toThrow();
});
