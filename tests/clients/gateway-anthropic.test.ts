import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { spoken, toolArguments } from "../http/native-model.ts";
import { clientsUnseen, native, providerUrl, rowsOf } from "./gateway-native.ts";

function anthropic(headers: Record<string, string> = {}, gateway = "open"): Anthropic {
  return new Anthropic({
    apiKey: "sk-ant",
    baseURL: providerUrl("anthropic", gateway),
    defaultHeaders: native(headers),
    maxRetries: 0,
  });
}
const question = {
  model: "claude-x",
  max_tokens: 64,
  messages: [{ role: "user" as const, content: "Is anybody there?" }],
};
const tools = [{ name: "weather", input_schema: { type: "object" as const } }];

describe("@anthropic-ai/sdk: messages", () => {
  it("creates one, and the log knows its tokens", async () => {
    const event = randomUUID();
    const answer = await anthropic({ "cf-aig-event-id": event }).messages.create(question);
    expect(answer.content).toEqual([{ type: "text", text: spoken }]);
    expect(await rowsOf(event)).toMatchObject([{ success: true, tokens_in: 17, tokens_out: 6 }]);
  });

  it("streams the events of one, and the log knows its tokens", async () => {
    const event = randomUUID();
    const client = anthropic({ "cf-aig-event-id": event });
    const types: string[] = [];
    for await (const one of await client.messages.create({ ...question, stream: true })) {
      if (types.at(-1) !== one.type) types.push(one.type);
    }
    expect(types).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
    expect(await rowsOf(event)).toMatchObject([{ success: true, tokens_in: 17, tokens_out: 6 }]);
  });

  it("collects a stream with the client's own helper, tool calls too", async () => {
    const texts: string[] = [];
    const text = anthropic().messages.stream(question);
    text.on("text", (delta) => texts.push(delta));
    expect(await text.finalText()).toBe(spoken);
    expect(texts.join("")).toBe(spoken);
    const called = await anthropic()
      .messages.stream({ ...question, tools })
      .finalMessage();
    expect(called.stop_reason).toBe("tool_use");
    expect(called.content).toMatchObject([{ name: "weather", input: toolArguments }]);
  });

  it("counts tokens", async () => {
    const { model, messages } = question;
    expect(await anthropic().messages.countTokens({ model, messages })).toEqual({
      input_tokens: 21,
    });
  });
});

describe("@anthropic-ai/sdk: errors", () => {
  it("gets the provider's own, with its request id", async () => {
    const error: unknown = await anthropic()
      .messages.create({ ...question, model: "missing-model" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.NotFoundError);
    expect(error).toMatchObject({ status: 404, requestID: "req_1", type: "not_found_error" });
  });

  it("gets the gateway's as an authentication error", async () => {
    const pending = anthropic({}, "guarded").messages.create(question);
    await expect(pending).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });

  it("breaks off with a provider that breaks off", async () => {
    const client = anthropic({ "x-test-mode": "truncate" });
    const read = async () => {
      for await (const one of await client.messages.create({ ...question, stream: true })) void one;
    };
    await expect(read()).rejects.toThrow();
  });

  itUnless(clientsUnseen)("leaves nothing running when it leaves a stream", async () => {
    const event = randomUUID();
    const client = anthropic({ "x-test-mode": "hang", "cf-aig-event-id": event });
    const stream = client.messages.stream(question);
    stream.on("error", () => undefined);
    await stream.emitted("connect");
    stream.abort();
    await expect(stream.done()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
    expect(await rowsOf(event)).toMatchObject([{ success: false }]);
  });
});
