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

describe.each(ways)("openai's responses through $name", ({ url, google }) => {
  const models = [
    { model: "openai/gpt-5", translated: false },
    { model: "anthropic/claude-x", translated: true },
    { model: `${google}/gemini-2.5-flash`, translated: true },
  ];
  const tool: OpenAI.Responses.FunctionTool = {
    type: "function",
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    strict: false,
  };

  it.each(models)("come from $model, streamed or not", async ({ model }) => {
    const { responses } = openai(url);
    const asked = { model, input: "Hello" };
    expect((await responses.create(asked)).output_text).toBe(spoken);
    const stream = responses.stream(asked);
    const parts: string[] = [];
    stream.on("response.output_text.delta", ({ delta }) => parts.push(delta));
    expect((await stream.finalResponse()).output_text).toBe(spoken);
    expect(parts.join("")).toBe(spoken);
  });

  it.each(models.filter(({ translated }) => translated))(
    "call a tool of $model, streamed or not, and take its result",
    async ({ model }) => {
      const { responses } = openai(url);
      const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Which weather?" }];
      const asked = { model, input, tools: [tool] };
      const answers: OpenAI.Responses.Response[] = [
        await responses.create(asked),
        await responses.stream(asked).finalResponse(),
      ];
      for (const { output, usage } of answers) {
        const call = output.find((item) => item.type === "function_call");
        if (call === undefined) throw new Error("No tool was called");
        expect([call.name, JSON.parse(call.arguments)]).toEqual(["weather", toolArguments]);
        expect(usage?.output_tokens).toBeGreaterThan(0);
        const result = {
          type: "function_call_output" as const,
          call_id: call.call_id,
          output: "Sunny in Köln",
        };
        const told = await responses.create({ model, input: [...input, call, result] });
        expect(told.output_text).not.toBe("");
      }
    },
  );

  it("tell a provider's error", async () => {
    const pending = openai(url).responses.create({ model: "anthropic/missing-model", input: "x" });
    await expect(pending).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});

describe.each([
  { name: "REST inference", url: inference, google: "google" },
  { name: "compat", url: providerUrl("compat", gateway), google: "google-ai-studio" },
])("@anthropic-ai/sdk through $name", ({ url, google }) => {
  const client = new Anthropic({
    apiKey: null,
    authToken: token,
    baseURL: url,
    defaultHeaders: native({ "cf-aig-gateway-id": gateway }),
    maxRetries: 0,
  });
  const models = [
    { model: "anthropic/claude-x", tokens: [13, 6] },
    { model: "openai/gpt-4o", tokens: [11, 4] },
    { model: `${google}/gemini-2.5-flash`, tokens: [9, 7] },
  ];

  it.each(models)("has messages of $model, streamed or not", async ({ model, tokens }) => {
    const asked = { model, max_tokens: 64, messages };
    const answer = await client.messages.create(asked);
    expect(answer).toMatchObject({
      model: model.split("/")[1],
      content: [{ type: "text", text: spoken }],
      stop_reason: "end_turn",
    });
    expect([answer.usage.input_tokens, answer.usage.output_tokens]).toEqual(tokens);
    const stream = client.messages.stream(asked);
    const parts: string[] = [];
    stream.on("text", (delta) => parts.push(delta));
    const { usage } = await stream.finalMessage();
    expect(parts.join("")).toBe(spoken);
    expect(parts.length).toBeGreaterThan(1);
    expect(usage.output_tokens).toBe(tokens[1]);
  });

  it.each(models)("has a tool called by $model and gives its result", async ({ model }) => {
    const tools: Anthropic.Tool[] = [
      {
        name: "weather",
        input_schema: { type: "object", properties: { city: { type: "string" } } },
      },
    ];
    const asked = { model, max_tokens: 64, messages, tools };
    const answers = [
      await client.messages.create(asked),
      await client.messages.stream(asked).finalMessage(),
    ];
    for (const { content, stop_reason: reason } of answers) {
      const use = content.find((block) => block.type === "tool_use");
      if (use === undefined) throw new Error("No tool was called");
      expect([use.name, use.input, reason]).toEqual(["weather", toolArguments, "tool_use"]);
      const result = {
        role: "user" as const,
        content: [{ type: "tool_result" as const, tool_use_id: use.id, content: "Sunny in Köln" }],
      };
      const conversation = [...messages, { role: "assistant" as const, content }, result];
      const told = await client.messages.create({ model, max_tokens: 64, messages: conversation });
      expect(told.stop_reason).toBe("end_turn");
    }
  });

  it("gets a provider's error as Anthropic tells it", async () => {
    const asked = { model: "openai/missing-model", max_tokens: 9, messages };
    const error: unknown = await client.messages.create(asked).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.NotFoundError);
    expect(error).toMatchObject({ type: "not_found_error" });
  });
});
