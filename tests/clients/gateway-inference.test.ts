import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import Cloudflare from "cloudflare";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { spoken, toolArguments } from "../http/native-model.ts";
import { account, base, native, providerUrl, rowsOf } from "./gateway-native.ts";

const token = inject("token");
const management = new Cloudflare({ apiToken: token, baseURL: `${base}/client/v4`, maxRetries: 0 });
/** A gateway with a stored key for each provider: the clients below have none of their own. */
const gateway = `keys-${randomUUID().slice(0, 8)}`;

beforeAll(async () => {
  await management.aiGateway.create({
    account_id: account,
    id: gateway,
    authentication: true,
    cache_invalidate_on_update: false,
    cache_ttl: null,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
  });
  for (const slug of ["openai", "anthropic", "google-ai-studio"]) {
    await management.aiGateway.providerConfigs.create(gateway, {
      account_id: account,
      alias: "default",
      default_config: true,
      provider_slug: slug,
      secret: `sk-stored-${slug}-0123456789`,
    });
  }
});
afterAll(() => management.aiGateway.delete(gateway, { account_id: account }));

const inference = `${base}/client/v4/accounts/${account}/ai`;
const messages = [{ role: "user" as const, content: "Is anybody there?" }];
const openai = (baseURL: string, more: Record<string, string> = {}, apiKey = token): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL,
    defaultHeaders: native({ "cf-aig-gateway-id": gateway, ...more }),
    maxRetries: 0,
  });
const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

/** What leads to the models of every provider in OpenAI's format, with the API token as the only key. */
const ways = [
  { name: "REST inference", url: `${inference}/v1`, google: "google" },
  { name: "compat", url: providerUrl("compat", gateway), google: "google-ai-studio" },
];

describe.each(ways)("openai through $name", ({ url, google }) => {
  const models = [
    { model: "openai/gpt-4o", tokens: [11, 4] },
    { model: "anthropic/claude-x", tokens: [17, 6] },
    { model: `${google}/gemini-2.5-flash`, tokens: [9, 7] },
  ];

  it.each(models)("chats with $model", async ({ model, tokens }) => {
    const event = randomUUID();
    const client = openai(url, { "cf-aig-event-id": event });
    const answer = await client.chat.completions.create({ model, messages });
    const { message, finish_reason: reason } = answer.choices[0] ?? {};
    expect([message?.content, reason]).toEqual([spoken, "stop"]);
    expect([answer.usage?.prompt_tokens, answer.usage?.completion_tokens]).toEqual(tokens);
    const [row] = await rowsOf(event, 1, gateway);
    expect([row?.["success"], row?.["tokens_in"], row?.["tokens_out"]]).toEqual([true, ...tokens]);
  });

  it.each(models)("streams from $model", async ({ model, tokens }) => {
    const stream = openai(url).chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    });
    const parts: string[] = [];
    stream.on("content", (delta) => parts.push(delta));
    const answer = await stream.finalChatCompletion();
    expect(parts.length).toBeGreaterThan(1);
    expect(answer.choices[0]?.message.content).toBe(spoken);
    expect([answer.usage?.prompt_tokens, answer.usage?.completion_tokens]).toEqual(tokens);
  });

  it.each(models)("has a tool called by $model, streamed or not", async ({ model }) => {
    const { completions } = openai(url).chat;
    const asked = { model, messages, tools: [weather] };
    const answers = [
      await completions.create(asked),
      await completions.stream(asked).finalChatCompletion(),
    ];
    for (const { choices } of answers) {
      expect(choices[0]?.finish_reason).toBe("tool_calls");
      const call = choices[0]?.message.tool_calls?.[0];
      if (call?.type !== "function") throw new Error("No tool was called");
      expect(call.function.name).toBe("weather");
      expect(JSON.parse(call.function.arguments)).toEqual(toolArguments);
    }
  });

  it("runs a tool with the client's own helper", async () => {
    for (const model of ["openai/gpt-4o", "anthropic/claude-x"]) {
      const run = openai(url).chat.completions.runTools({
        model,
        messages,
        tools: [
          {
            type: "function",
            function: {
              name: "weather",
              parse: (text: string) => JSON.parse(text) as { city: string },
              function: ({ city }: { city: string }) => `Sunny in ${city}`,
              parameters: { type: "object" },
              description: "The weather of a city",
            },
          },
        ],
      });
      expect(await run.finalContent()).toContain("Sunny in Köln");
    }
  });

  it("gets a provider's error", async () => {
    for (const model of ["openai/missing-model", "anthropic/missing-model"]) {
      const pending = openai(url).chat.completions.create({ model, messages });
      await expect(pending).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    }
  });

  it("learns that a model needs its provider's name", async () => {
    const pending = openai(url).chat.completions.create({ model: "gpt-4o", messages });
    const error: unknown = await pending.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(String(error)).toContain("2019");
  });

  it("is refused with a wrong token", async () => {
    const client = openai(url, {}, "no-token-of-this-server");
    const pending = client.chat.completions.create({ model: "openai/gpt-4o", messages });
    await expect(pending).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });
});

describe("openai through REST inference", () => {
  it("creates a response, streamed or not", async () => {
    const { responses } = openai(`${inference}/v1`);
    const asked = { model: "openai/gpt-5", input: "Hello" };
    expect((await responses.create(asked)).output_text).toBe(spoken);
    expect((await responses.stream(asked).finalResponse()).output_text).toBe(spoken);
  });
});

describe("@anthropic-ai/sdk through REST inference", () => {
  it("creates a message, streamed or not, with the API token as its key", async () => {
    const client = new Anthropic({
      apiKey: null,
      authToken: token,
      baseURL: inference,
      defaultHeaders: native({ "cf-aig-gateway-id": gateway }),
      maxRetries: 0,
    });
    const asked = { model: "anthropic/claude-x", max_tokens: 64, messages };
    const answer = await client.messages.create(asked);
    expect(answer).toMatchObject({ model: "claude-x", content: [{ text: spoken }] });
    expect(await client.messages.stream(asked).finalText()).toBe(spoken);
  });
});
