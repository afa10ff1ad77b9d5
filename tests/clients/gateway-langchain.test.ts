import { randomUUID } from "node:crypto";
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { spoken, toolArguments } from "../http/native-model.ts";
import { gatewayToken } from "../http/prepare-target.ts";
import { native, providerUrl, rowsOf } from "./gateway-native.ts";

/** What the tests set of a chat class. */
interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly gateway?: string;
  readonly model?: string;
}

function openai({ headers, gateway, model = "gpt-4o" }: Asked = {}): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey: "sk-provider",
    maxRetries: 0,
    configuration: {
      baseURL: providerUrl("openai", gateway),
      defaultHeaders: native(headers),
    },
  });
}

function anthropic({ headers, gateway, model = "claude-sonnet-4" }: Asked = {}): ChatAnthropic {
  return new ChatAnthropic({
    model,
    apiKey: "sk-ant",
    maxRetries: 0,
    anthropicApiUrl: providerUrl("anthropic", gateway),
    clientOptions: { defaultHeaders: native(headers) },
  });
}

/** The chat classes and the tokens that the model server reports to each. */
const classes = [
  { name: "ChatOpenAI", chat: openai, usage: [11, 4] },
  { name: "ChatAnthropic", chat: anthropic, usage: [17, 6] },
] as const;

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
} as const;

describe.each(classes)("LangChain: $name", ({ chat, usage: [tokensIn, tokensOut] }) => {
  it("invokes, and the log knows its tokens", async () => {
    const event = randomUUID();
    const model = chat({ headers: { "cf-aig-event-id": event } });
    const answer = await model.invoke("Is anybody there?");
    expect(answer.text).toBe(spoken);
    expect(answer.usage_metadata).toMatchObject({
      input_tokens: tokensIn,
      output_tokens: tokensOut,
    });
    const rows = await rowsOf(event);
    expect(rows).toMatchObject([{ success: true, tokens_in: tokensIn, tokens_out: tokensOut }]);
  });

  it("streams, and the log knows its tokens", async () => {
    const event = randomUUID();
    const texts: string[] = [];
    const model = chat({ headers: { "cf-aig-event-id": event } });
    for await (const chunk of await model.stream("Is anybody there?")) texts.push(chunk.text);
    expect(texts.filter((text) => text !== "").length).toBeGreaterThan(1);
    expect(texts.join("")).toBe(spoken);
    const rows = await rowsOf(event);
    expect(rows).toMatchObject([{ success: true, tokens_in: tokensIn, tokens_out: tokensOut }]);
  });

  it("calls a tool and tells its result", async () => {
    const model = chat().bindTools([weather]);
    const question = new HumanMessage("How is the weather in Köln?");
    const called = await model.invoke([question]);
    expect(called.tool_calls).toMatchObject([{ name: "weather", args: toolArguments }]);
    const id = called.tool_calls?.[0]?.id ?? "";
    const result = new ToolMessage({ tool_call_id: id, content: "Sunny ☀️" });
    expect((await model.invoke([question, called, result])).text).toContain("Sunny ☀️");
  });

  it("collects a tool call from a stream", async () => {
    const model = chat().bindTools([weather]);
    const stream = await model.stream("How is the weather in Köln?");
    let whole: Awaited<ReturnType<typeof stream.next>>["value"];
    for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk);
    expect(whole?.tool_calls).toMatchObject([{ name: "weather", args: toolArguments }]);
  });

  it("gets over a failing provider by the gateway's own tries", async () => {
    const headers = {
      "cf-aig-max-attempts": "2",
      "cf-aig-retry-delay": "1",
      "x-test-failures": "1",
    };
    expect((await chat({ headers }).invoke("Hello")).text).toBe(spoken);
  });

  it("passes a gateway that wants a token with it, and not without", async () => {
    const headers = { "cf-aig-authorization": `Bearer ${gatewayToken}` };
    const model: BaseChatModel = chat({ gateway: "guarded", headers });
    expect((await model.invoke("Hello")).text).toBe(spoken);
    const error: unknown = await chat({ gateway: "guarded" })
      .invoke("Hello")
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 401 });
  });

  it("gets the provider's own error", async () => {
    const pending = chat({ model: "missing-model" }).invoke("Hello");
    const error: unknown = await pending.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 404 });
  });
});

describe("LangChain: ChatOpenAI", () => {
  it("uses the responses API where it is told to", async () => {
    const model = new ChatOpenAI({
      model: "gpt-5",
      apiKey: "sk-provider",
      maxRetries: 0,
      useResponsesApi: true,
      configuration: { baseURL: providerUrl("openai"), defaultHeaders: native() },
    });
    expect((await model.invoke("Hello")).text).toBe(spoken);
    let text = "";
    for await (const chunk of await model.stream("Hello")) text += chunk.text;
    expect(text).toBe(spoken);
  });
});

describe("LangChain: OpenAIEmbeddings", () => {
  it("embeds documents", async () => {
    const embedder = new OpenAIEmbeddings({
      model: "embedder",
      apiKey: "sk-provider",
      maxRetries: 0,
      configuration: { baseURL: providerUrl("openai"), defaultHeaders: native() },
    });
    expect(await embedder.embedDocuments(["one", "two"])).toEqual([
      [0.25, -0.5, 1],
      [0.25, -0.5, 1],
    ]);
  });
});
