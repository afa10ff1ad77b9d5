import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import Cloudflare from "cloudflare";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { spoken } from "../http/native-model.ts";
import { account, base, native, providerUrl, rowsOf } from "./gateway-native.ts";

const token = inject("token");
const management = new Cloudflare({ apiToken: token, baseURL: `${base}/client/v4`, maxRetries: 0 });
/** A gateway of its own: what it learns about models that fail is not shared. */
const gateway = `auto-${randomUUID().slice(0, 8)}`;

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
  await management.aiGateway.providerConfigs.create(gateway, {
    account_id: account,
    alias: "default",
    default_config: true,
    provider_slug: "anthropic",
    secret: "sk-stored-anthropic-0123456789",
  });
});
afterAll(() => management.aiGateway.delete(gateway, { account_id: account }));

const inference = `${base}/client/v4/accounts/${account}/ai`;
const model = "cloudflare/auto";
const messages = [{ role: "user" as const, content: "Is anybody there?" }];
const reachable = { "cf-aig-allowed-models": "groq/*, anthropic/*" };
const openai = (baseURL: string, more: Record<string, string> = reachable): OpenAI =>
  new OpenAI({
    apiKey: token,
    baseURL,
    defaultHeaders: native({ "cf-aig-gateway-id": gateway, ...more }),
    maxRetries: 0,
  });
const routeOf = ({ headers }: Response): (string | null)[] => [
  headers.get("cf-aig-routed-model"),
  headers.get("gw-aig-routing-reason"),
];

describe.each([
  { name: "compat", url: providerUrl("compat", gateway) },
  { name: "REST inference", url: `${inference}/v1` },
])("openai with the automatic router through $name", ({ url }) => {
  it("chats with the cheapest model, whose name is in the answer and the log", async () => {
    const event = randomUUID();
    const { data, response } = await openai(url, { ...reachable, "cf-aig-event-id": event })
      .chat.completions.create({ model, messages })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe(spoken);
    expect(routeOf(response)).toEqual(["groq/cheap", "cost_optimal_within_pool"]);
    expect(response.headers.get("cf-aig-routing-decision-id")).toMatch(/^[0-9a-f-]{36}$/);
    const [row] = await rowsOf(event, 1, gateway);
    expect(row).toMatchObject({ provider: "groq", model: "cheap", success: true });
  });

  it("streams", async () => {
    const stream = openai(url).chat.completions.stream({ model, messages });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(spoken);
  });

  it("has images seen by a model that can", async () => {
    const content: OpenAI.ChatCompletionContentPart[] = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
    ];
    const { data, response } = await openai(url)
      .chat.completions.create({ model, messages: [{ role: "user", content }] })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe(spoken);
    expect(routeOf(response)).toEqual(["anthropic/claude-x", "forced_by_candidate_pool"]);
  });

  it("has responses, streamed or not", async () => {
    const { responses } = openai(url);
    expect((await responses.create({ model, input: "Hello" })).output_text).toBe(spoken);
    const stream = responses.stream({ model, input: "Hello" });
    expect((await stream.finalResponse()).output_text).toBe(spoken);
  });

  it("keeps the model of a turn", async () => {
    const session = { "cf-aig-session-id": randomUUID() };
    const ask = async (more: Record<string, string>): Promise<(string | null)[]> => {
      const client = openai(url, { ...session, ...more });
      const pending = client.chat.completions.create({ model, messages });
      return routeOf((await pending.withResponse()).response);
    };
    const claude = "anthropic/claude-x";
    const [first] = await ask({ "cf-aig-allowed-providers": "anthropic" });
    expect(first).toBe(claude);
    expect(await ask(reachable)).toEqual([claude, "pinned_by_turn"]);
    const free = { ...reachable, "cf-aig-no-session-affinity": "true" };
    expect(await ask(free)).toEqual(["groq/cheap", "cost_optimal_within_pool"]);
  });

  it.each([
    [{ "cf-aig-allowed-models": "openai/*" }, "cf-aig-allowed-models"],
    [{ "cf-aig-allowed-providers": "groq,nobody" }, "cf-aig-allowed-providers"],
    [{ "gw-aig-session-id": "x".repeat(300) }, "gw-aig-session-id"],
  ])("learns which header is at fault: %j", async (headers, name) => {
    const pending = openai(url, headers).chat.completions.create({
      model,
      messages,
    });
    const error: unknown = await pending.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(String(error)).toContain(name);
  });
});

it("openai is served by the next model when the cheapest cannot be reached", async () => {
  const event = randomUUID();
  const { data, response } = await openai(providerUrl("compat", gateway), {
    "cf-aig-event-id": event,
  })
    .chat.completions.create({ model, messages })
    .withResponse();
  expect(data.choices[0]?.message.content).toBe(spoken);
  expect(routeOf(response)).toEqual(["groq/cheap", "fallback_candidate_unavailable"]);
  const rows = await rowsOf(event, 2, gateway);
  const tried = rows.map(({ provider, success }) => [provider, success]);
  expect(tried).toContainEqual(["deepseek", false]);
  expect(tried).toContainEqual(["groq", true]);
});

it("openai lists the automatic router among the models", async () => {
  const ids: string[] = [];
  for await (const { id } of openai(providerUrl("compat", gateway)).models.list()) ids.push(id);
  expect(ids).toContain(model);
});

it("@anthropic-ai/sdk has messages of the model that is chosen", async () => {
  const client = new Anthropic({
    apiKey: null,
    authToken: token,
    baseURL: inference,
    defaultHeaders: native({ "cf-aig-gateway-id": gateway, ...reachable }),
    maxRetries: 0,
  });
  const asked = { model, max_tokens: 64, messages };
  const { data, response } = await client.messages.create(asked).withResponse();
  expect(data.content).toMatchObject([{ type: "text", text: spoken }]);
  expect(routeOf(response)[0]).toBe("groq/cheap");
});
