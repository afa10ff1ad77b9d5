import { randomUUID } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import Cloudflare from "cloudflare";
import OpenAI from "openai";
import { describe, expect, inject, it } from "vitest";
import { gatewayToken } from "../http/prepare-target.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

const openai = (gateway: string, provider: string, headers: Record<string, string> = {}): OpenAI =>
  new OpenAI({
    apiKey: "sk-provider",
    baseURL: `${base}/v1/${account}/${gateway}/${provider}`,
    defaultHeaders: headers,
    maxRetries: 0,
  });
const messages = [{ role: "user" as const, content: "Is anybody there?" }];

describe("openai", () => {
  it("chats through the provider openai", async () => {
    const client = openai("guarded", "openai", {
      "cf-aig-authorization": `Bearer ${gatewayToken}`,
    });
    const answer = await client.chat.completions.create({ model: "test-model", messages });
    expect(answer.choices[0]?.message.content).toBe("Hello from upstream");
    expect(answer.usage?.total_tokens).toBe(10);
  });

  it("streams through the provider openai", async () => {
    const stream = await openai("open", "openai").chat.completions.create({
      model: "m",
      messages,
      stream: true,
    });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("Grüße 🌍!");
  });

  it("chats and streams with the demo provider", async () => {
    const client = openai("open", "echo");
    const answer = await client.chat.completions.create({ model: "echo-demo", messages });
    expect(answer.choices[0]?.message.content).toBe("Is anybody there?");
    const stream = await client.chat.completions.create({
      model: "echo-demo",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      total += chunk.usage?.total_tokens ?? 0;
    }
    expect([text, total]).toEqual(["Is anybody there?", 6]);
    expect((await client.models.list()).data[0]?.id).toBe("echo-demo");
  });

  it("reports a missing gateway token as an authentication error", async () => {
    const pending = openai("guarded", "openai").chat.completions.create({ model: "m", messages });
    await expect(pending).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });

  it("sees a provider's rate limit as its own error", async () => {
    const client = openai("open", "openai", { "x-test-mode": "error429" });
    const error = await client.chat.completions
      .create({ model: "m", messages })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect((error as InstanceType<typeof OpenAI.RateLimitError>).code).toBe("rate_limited");
  });
});

describe("@anthropic-ai/sdk", () => {
  it("posts to the provider anthropic with its own credential and version", async () => {
    const client = new Anthropic({
      apiKey: "sk-ant",
      baseURL: `${base}/v1/${account}/open/anthropic`,
      defaultHeaders: { "x-test-mode": "mirror" },
      maxRetries: 0,
    });
    const got = (await client.messages.create({
      model: "claude-x",
      max_tokens: 5,
      messages,
    })) as unknown as {
      url: string;
      headers: Record<string, string>;
    };
    expect(got.url).toBe("/v1/messages");
    expect(JSON.stringify(got.headers)).toContain("sk-ant");
    expect(got.headers["anthropic-version"]).toMatch(/^\d{4}-/);
  });
});

describe("cloudflare", () => {
  const client = new Cloudflare({ apiToken: token, baseURL: `${base}/client/v4`, maxRetries: 0 });
  const settings = {
    account_id: account,
    authentication: false,
    cache_invalidate_on_update: false,
    cache_ttl: 0,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
  };

  it("creates, reads, changes, lists and deletes a gateway", async () => {
    const id = `sdk-${randomUUID().slice(0, 8)}`;
    const created = await client.aiGateway.create({ ...settings, id });
    expect(created.id).toBe(id);
    const updated = await client.aiGateway.update(id, { ...settings, cache_ttl: 60 });
    expect(updated.cache_ttl).toBe(60);
    expect((await client.aiGateway.get(id, { account_id: account })).cache_ttl).toBe(60);
    const ids: string[] = [];
    for await (const gateway of client.aiGateway.list({ account_id: account, per_page: 1 }))
      ids.push(gateway.id);
    expect(ids).toContain(id);
    await client.aiGateway.delete(id, { account_id: account });
    const gone = client.aiGateway.get(id, { account_id: account });
    await expect(gone).rejects.toBeInstanceOf(Cloudflare.NotFoundError);
  });

  it("finds, reads and rates the log of a request", async () => {
    const event = randomUUID();
    const model = `logged-${event}`;
    await openai("open", "echo", { "cf-aig-event-id": event }).chat.completions.create({
      model,
      messages,
    });
    const params = {
      account_id: account,
      filters: [{ key: "event_id" as const, operator: "eq" as const, value: [event] }],
    };
    const rows = async () => (await client.aiGateway.logs.list("open", params)).result;
    await expect
      .poll(rows)
      .toMatchObject([{ model, provider: "echo", success: true, tokens_in: 3, tokens_out: 3 }]);
    const { id } = (await rows())[0]!;
    const request = await client.aiGateway.logs.request(id, {
      account_id: account,
      gateway_id: "open",
    });
    expect(request).toMatchObject({ model });
    const response = await client.aiGateway.logs.response(id, {
      account_id: account,
      gateway_id: "open",
    });
    expect(response).toMatchObject({ object: "chat.completion" });
    await client.aiGateway.logs.edit(id, { account_id: account, gateway_id: "open", feedback: 1 });
    const row = await client.aiGateway.logs.get(id, { account_id: account, gateway_id: "open" });
    expect(row).toMatchObject({ feedback: 1, request_head_complete: true });
    expect(await client.aiGateway.logs.delete("open", params)).toMatchObject({ success: true });
    expect((await client.aiGateway.logs.list("open", params)).result).toEqual([]);
  });

  it("gets a gateway's address", async () => {
    const url = await client.aiGateway.urls.get("openai", {
      account_id: account,
      gateway_id: "open",
    });
    expect(url).toBe(`${base}/v1/${account}/open/openai`);
  });
});
