import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messagesFront } from "../../../../core/gateway/chat/formats/messages-reply.ts";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import {
  anyEventsOf,
  askedFormats,
  askIn,
  chatChunk,
  streamedText,
  streamEvents,
} from "../../../fakes/gateway-formats.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "k" } },
  });
});
afterAll(() => gate.close());

const send = (format: string, more: object): Promise<Response> => askIn(gate, format, more);

describe("an answer that is none", () => {
  it.each(askedFormats)("is not made up of an error page, in %s", async (format) => {
    for (const body of ["<html>Busy</html>", '{"candidates": [', "7", "[]"]) {
      gate.transport.behave = () => ({
        status: 200,
        headers: [["content-type", "text/html"]],
        body: bytes(body),
      });
      const response = await send(format, { model: "google-ai-studio/gemini-x" });
      expect([response.status, await response.json()]).toMatchObject([502, { internalCode: 2005 }]);
    }
  });

  it.each([
    ["google-ai-studio/g", { error: { message: "Busy" } }, "Busy"],
    ["workers-ai/@cf/m", { success: false, errors: [{ code: 1, message: "Busy" }] }, "Busy"],
    ["workers-ai/@cf/m", { success: false, errors: [] }, "The provider answered 200"],
  ])("is an error, whatever its status: %s %j", async (model, body, message) => {
    gate.transport.behave = () => jsonReply(body);
    // A chat for Workers AI is answered as it is.
    for (const format of model.startsWith("workers-ai") ? askedFormats.slice(1) : askedFormats) {
      const response = await send(format, { model });
      expect([response.status, await response.json()]).toMatchObject([502, { error: { message } }]);
    }
  });

  it("keeps the provider's words where these are no JSON", async () => {
    gate.transport.behave = () => ({ status: 503, headers: [], body: bytes("Come back later") });
    const response = await send("messages", { model: "openai/gpt-x" });
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { type: "api_error", message: "Come back later" } },
    ]);
  });
});

describe("a stream that was asked for", () => {
  it.each(askedFormats)("comes from a model that answers at once, as %s", async (format) => {
    gate.transport.behave = () =>
      jsonReply({
        candidates: [
          {
            content: { parts: [{ text: "Hello" }, { functionCall: { name: "clock", args: {} } }] },
            finishReason: "STOP",
          },
        ],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 },
      });
    const asked = { model: "google-ai-studio/gemini-x", stream: true };
    expect(await streamedText(await send(format, asked))).toBe("Hello");
    const text = await (await send(format, asked)).text();
    expect(text).toContain('"name":"clock"');
    expect(text.trimEnd()).toMatch(/(?:\[DONE\]|"message_stop"\}|"type":"response.completed".*)$/);
  });

  it.each([0, 1])("ends at its provider when it is cancelled after %i reads", async (reads) => {
    const silent = Promise.withResolvers<void>();
    let pulls = 0;
    let cancelled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (pulls++ === 0)
            return controller.enqueue(
              bytes(`data: ${JSON.stringify(chatChunk({ content: "Hel" }))}\n\n`),
            );
          silent.resolve();
          return new Promise<void>(() => undefined);
        },
        cancel: () => void cancelled++,
      },
      { highWaterMark: 0 },
    );
    gate.transport.behave = () => ({ ...streamReply([]), body });
    const answer = await send("messages", { model: "openai/gpt-x", stream: true });
    const reader = answer.body!.getReader();
    for (let i = 0; i < reads; i++) await reader.read();
    if (reads > 0) {
      void reader.read();
      await silent.promise;
    }
    await reader.cancel();
    expect(cancelled).toBe(1);
  });
});

describe("a response that was cut", () => {
  it("has one unfinished item, the last one; its texts have the members that clients expect", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const call = { index: 0, id: "t1", function: { name: "f", arguments: '{"a' } };
    streamEvents(
      gate,
      [
        chatChunk({ content: "Hel" }),
        chatChunk({ tool_calls: [call] }),
        chatChunk({}, "length"),
        { choices: [], usage },
      ],
      "data: [DONE]\n\n",
    );
    const events = await anyEventsOf(await send("responses", { model: "mistral/m", stream: true }));
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: { output: [{ status: "completed" }, { status: "incomplete" }] },
    });
    const text = events.find(({ type }) => type === "response.output_text.delta");
    expect(text).toMatchObject({ delta: "Hel", content_index: 0, output_index: 0, logprobs: [] });
  });
});

describe("a hidden thought", () => {
  it("is a block of its own in a stream of messages", () => {
    const chat = { model: "m", messages: [] };
    const writer = messagesFront.stream({ chat, given: {}, id: "1", created: 0 });
    const told = [
      writer.add({ delta: { thought: "Hm" } }),
      writer.add({ delta: { reasoning: { text: "", hidden: "DATA" } } }),
    ].join("");
    expect(told).toContain('"index":1,"content_block":{"type":"redacted_thinking","data":"DATA"}');
    expect(told.match(/content_block_stop/g)).toHaveLength(4);
  });
});
