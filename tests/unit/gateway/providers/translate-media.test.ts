import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

describe("images and files in the result of a tool", () => {
  const png = { type: "base64", media_type: "image/png", data: "AAAA" };
  const asked = {
    messages: [
      ...messages,
      {
        role: "assistant",
        content: ["a", "b"].map((id) => ({ type: "tool_use", id, name: "see", input: {} })),
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "image", source: png }] },
          { type: "tool_result", tool_use_id: "b", content: "dark" },
          { type: "text", text: "Which?" },
        ],
      },
    ],
  };
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

  it.each(["mistral/m", "cohere/m"])(
    "stand behind the results of their round for %s",
    async (model) => {
      answering({ choices: [{ message: { content: "ok" }, finish_reason: "stop" }] });
      expect((await send("messages", model, asked)).status).toBe(200);
      expect((sentBody()["messages"] as unknown[]).slice(2)).toMatchObject([
        { role: "tool", tool_call_id: "a", content: "The result follows in the next message." },
        { role: "tool", tool_call_id: "b", content: "dark" },
        { role: "user", content: [{ type: "text", text: "Result of a:" }, image] },
        { role: "user", content: "Which?" },
      ]);
    },
  );

  it("stand behind them for Gemini, too", async () => {
    answering({ candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] });
    await send("messages", "google-ai-studio/gemini-2.5-flash", asked);
    const { parts } = (sentBody()["contents"] as { parts: object[] }[]).at(-1)!;
    expect(parts.slice(2)).toEqual([
      { text: "Result of a:" },
      { inlineData: { mimeType: "image/png", data: "AAAA" } },
      { text: "Which?" },
    ]);
  });
});

describe("a text file for Anthropic", () => {
  const file = (data: string) => ({
    messages: [
      { role: "user", content: [{ type: "file", file: { file_data: data, filename: "a.txt" } }] },
    ],
  });
  it("goes as text, which is the only way it takes one", async () => {
    answering(text);
    await send("chat/completions", "anthropic/c", file("data:text/plain;base64,R3LDvMOf"));
    const source = { type: "text", media_type: "text/plain", data: "Grüß" };
    expect(sentBody()["messages"]).toMatchObject([
      { content: [{ type: "document", title: "a.txt", source }] },
    ]);
    const broken = await send("chat/completions", "anthropic/c", file("data:text/csv;base64,R"));
    expect(broken.status).toBe(400);
  });
});

describe("an image that Gemini draws", () => {
  const model = "google-ai-studio/gemini-3-pro-image";
  const inlineData = { mimeType: "image/png", data: "iVBORw0K" };
  const url = "data:image/png;base64,iVBORw0K";
  const parts = [
    { text: "draft", thought: true },
    { inlineData, thought: true },
    { text: "Here" },
    { inlineData },
  ];
  const native = { candidates: [{ content: { parts }, finishReason: "STOP" }] };
  const image = { type: "image_url", image_url: { url } };

  it("stands in images of a chat, streamed or not, and goes back", async () => {
    answering(native);
    const whole = (await (await send("chat/completions", model)).json()) as {
      choices: { message: object }[];
    };
    const message = whole.choices[0]!.message;
    expect(message).toMatchObject({ content: "Here", images: [image] });
    streaming([native]);
    const chunks = await anyEventsOf(await send("chat/completions", model, { stream: true }));
    expect(chunks[0]).toMatchObject({ choices: [{ delta: { content: "Here", images: [image] } }] });
    answering(native);
    await send("chat/completions", model, { messages: [...messages, message, ...messages] });
    const thoughtSignature = "skip_thought_signature_validator";
    expect((sentBody()["contents"] as unknown[])[1]).toEqual({
      role: "model",
      parts: [{ text: "Here" }, { inlineData, thoughtSignature }],
    });
    const elsewhere = { messages: [...messages, message, ...messages] };
    expect((await send("chat/completions", "anthropic/c", elsewhere)).status).toBe(400);
  });

  it("is an item of a response, streamed or not, and goes back", async () => {
    answering(native);
    const { output } = (await (await send("responses", model)).json()) as { output: Member[] };
    const item = { type: "image_generation_call", status: "completed", result: "iVBORw0K" };
    expect(output.slice(1)).toMatchObject([{ type: "message" }, item]);
    streaming([native]);
    const events = await anyEventsOf(await send("responses", model, { stream: true }));
    expect(events.filter((event) => event["output_index"] === 2)).toMatchObject([
      { type: "response.output_item.added", item: { status: "in_progress", result: null } },
      { type: "response.output_item.done", item },
    ]);
    expect(events.at(-1)).toMatchObject({ response: { output: [{}, {}, item] } });
    answering(native);
    await send("responses", model, { input: [{ role: "user", content: "Draw" }, ...output] });
    expect((sentBody()["contents"] as { parts: unknown[] }[])[1]?.parts).toMatchObject([
      { text: "Here" },
      { inlineData },
    ]);
  });

  it("is Markdown in a message, which has no place for images", async () => {
    answering(native);
    expect(await (await send("messages", model)).json()).toMatchObject({
      content: [{ type: "thinking" }, { text: "Here" }, { type: "text", text: `![](${url})` }],
    });
    streaming([native]);
    const events = await anyEventsOf(await send("messages", model, { stream: true }));
    expect(events).toContainEqual({
      type: "content_block_delta",
      index: 2,
      delta: { type: "text_delta", text: `![](${url})` },
    });
  });
});
