import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { describe, expect, inject, it } from "vitest";
import { spoken } from "../http/native-model.ts";
import { native, providerUrl } from "./gateway-native.ts";

// Programs as docs/gateway/clients.md sets them up: one address, the gateway's token, the models of every provider.
const baseURL = providerUrl("compat", "default");
const apiKey = inject("token");
/** Of a provider of chats alone with a configured key. */
const model = "groq/llama";

describe("AI SDK: compat", () => {
  const city = jsonSchema<{ city: string }>({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  });
  const weather = tool({
    description: "The weather of a city",
    inputSchema: city,
    execute: ({ city: name }) => `Sunny in ${name}`,
  });
  const headers = native();
  const compatible = createOpenAICompatible({ name: "causey", baseURL, apiKey, headers });
  const openai = createOpenAI({ baseURL, apiKey, headers });
  const anthropic = createAnthropic({ baseURL: `${baseURL}/v1`, authToken: apiKey, headers });
  const ways = [
    ["openai-compatible", compatible(model)],
    ["openai", openai.chat(model)],
    ["anthropic", anthropic(model)],
  ] as const;

  it.each(ways)("asks by %s, with a tool", async (_, chat) => {
    const asked = { model: chat, prompt: "Hello", maxRetries: 0 };
    expect((await generateText(asked)).text).toBe(spoken);
    const streamed = streamText({ ...asked, tools: { weather }, stopWhen: stepCountIs(3) });
    expect(await streamed.text).toContain("Sunny in");
  });

  it("asks by openai's responses", async () => {
    const asked = { model: openai.responses(model), prompt: "Hello", maxRetries: 0 };
    expect((await generateText(asked)).text).toBe(spoken);
  });
});

describe("LangChain: compat", () => {
  const weather = {
    type: "function",
    function: {
      name: "weather",
      description: "The weather of a city",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  } as const;
  const openai = new ChatOpenAI({
    model,
    apiKey,
    maxRetries: 0,
    configuration: { baseURL, defaultHeaders: native() },
  });
  const anthropic = new ChatAnthropic({
    model,
    maxRetries: 0,
    createClient: () =>
      new Anthropic({ baseURL, apiKey: null, authToken: apiKey, defaultHeaders: native() }),
  });

  it("asks by ChatOpenAI and ChatAnthropic, with a tool", async () => {
    for (const chat of [openai, anthropic]) {
      expect((await chat.invoke("Hello")).text).toBe(spoken);
      const called = await chat.bindTools([weather]).invoke("Which weather?");
      expect(called.tool_calls?.map(({ name }) => name)).toEqual(["weather"]);
    }
  });
});

describe("@anthropic-ai/sdk: compat", () => {
  it("counts tokens for models of every provider", async () => {
    const client = new Anthropic({ baseURL, authToken: apiKey, apiKey: null });
    const messages = [{ role: "user" as const, content: "Hello" }];
    const counted = await client.messages.countTokens({ model, messages }).withResponse();
    expect(counted.data.input_tokens).toBeGreaterThan(0);
    expect(counted.response.headers.get("cf-aig-estimated")).toBe("input_tokens");
  });

  it("lists models, and finds one", async () => {
    const client = new Anthropic({ baseURL, authToken: apiKey, apiKey: null });
    const page = await client.models.list();
    const [first] = page.data;
    expect(first).toMatchObject({ type: "model", display_name: first?.id });
    expect([page.hasNextPage(), page.first_id]).toEqual([false, first?.id]);
    expect(await client.models.retrieve(first?.id ?? "")).toEqual(first);
  });
});

describe("openai: custom tools of a chat over another provider", () => {
  const client = new OpenAI({
    baseURL: providerUrl("compat"),
    apiKey: "sk-any",
    defaultHeaders: native(),
    maxRetries: 0,
  });
  const asked = {
    model: "anthropic/claude-x",
    tools: [{ type: "custom" as const, custom: { name: "apply_patch", description: "Edits" } }],
  };
  const hi = { role: "user" as const, content: "Hello" };
  const calls = [{ id: "toolu_1", type: "custom", custom: { name: "apply_patch", input: spoken } }];

  it("are called, also in a stream, and take a result", async () => {
    const whole = await client.chat.completions.create({ ...asked, messages: [hi] });
    const stream = client.chat.completions.stream({ ...asked, messages: [hi] });
    for (const { choices } of [whole, await stream.finalChatCompletion()])
      expect(choices[0]).toMatchObject({
        finish_reason: "tool_calls",
        message: { tool_calls: calls },
      });
    const result = { role: "tool" as const, tool_call_id: "toolu_1", content: "Done" };
    const messages = [hi, whole.choices[0]!.message, result];
    const last = await client.chat.completions.create({ ...asked, messages });
    expect(last.choices[0]?.message.content).toContain("Done");
  });
});

describe("openai with the host's /v1 as its base URL", () => {
  const home = `${inject("baseUrl")}/v1`;
  const messages = [{ role: "user" as const, content: "Hello" }];
  const client = new OpenAI({ baseURL: home, apiKey, defaultHeaders: native(), maxRetries: 0 });

  it("asks any provider's model with the operator's token, streams, and lists models", async () => {
    const chat = await client.chat.completions.create({ model, messages });
    expect(chat.choices[0]?.message.content).toBe(spoken);
    let text = "";
    for await (const part of await client.chat.completions.create({
      model,
      messages,
      stream: true,
    }))
      text += part.choices[0]?.delta.content ?? "";
    expect(text).toBe(spoken);
    const listed = await client.models.list();
    expect(listed.data.length).toBeGreaterThan(0);
    expect((await client.responses.create({ model, input: "Hello" })).output_text).toBe(spoken);
  });

  it("writes down a sound, and speaks, by forms and JSON of other requests than chats", async () => {
    const file = new File([new Uint8Array(64)], "a.wav", { type: "audio/wav" });
    const heard = await client.audio.transcriptions.create({ model: "groq/whisper", file });
    expect(heard.text).not.toBe("");
    const asked = { model: "groq/playai-tts", voice: "alloy", input: "Hello" };
    expect((await (await client.audio.speech.create(asked)).bytes()).length).toBeGreaterThan(0);
    const refused = client.embeddings.create({ model: "groq/e", input: "Hello" });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("is not supported here"),
    });
  });

  it("asks the gateway that the header names", async () => {
    const asked = client.chat.completions.create(
      { model, messages },
      { headers: { "cf-aig-gateway-id": "no-such-gateway" } },
    );
    await expect(asked).rejects.toMatchObject({ status: 400 });
  });

  it("asks with a virtual key, within its models", async () => {
    const keys = `${inject("baseUrl")}/client/v4/accounts/${inject("accountId")}/ai-gateway/virtual-keys`;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const body = JSON.stringify({ name: "home", models: [model] });
    const made = await fetch(keys, { method: "POST", headers, body });
    const { result } = (await made.json()) as { result: { id: string; key: string } };
    const own = client.withOptions({ apiKey: result.key });
    const chat = await own.chat.completions.create({ model, messages });
    expect(chat.choices[0]?.message.content).toBe(spoken);
    const other = own.chat.completions.create({ model: "groq/another", messages });
    await expect(other).rejects.toMatchObject({ status: 403 });
    await fetch(`${keys}/${result.id}`, { method: "DELETE", headers });
  });

  it("refuses a stranger's token", async () => {
    const stranger = new OpenAI({ baseURL: home, apiKey: "sk-wrong", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 });
  });

  it("takes Anthropic's client, too", async () => {
    const anthropic = new Anthropic({
      baseURL: inject("baseUrl"),
      authToken: apiKey,
      apiKey: null,
      defaultHeaders: native(),
      maxRetries: 0,
    });
    const answer = await anthropic.messages.create({ model, max_tokens: 100, messages });
    expect(answer.content[0]).toMatchObject({ type: "text", text: spoken });
  });
});
