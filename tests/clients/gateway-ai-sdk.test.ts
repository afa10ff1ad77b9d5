import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { spoken, spokenParts } from "../http/native-model.ts";
import { gatewayToken } from "../http/prepare-target.ts";
import type { TargetName } from "../http/target.ts";
import { type BindingHost, startBindingHost } from "./ai-binding-host.ts";
import { type Asked, askAiSdk, type Outcome } from "./ai-sdk.ts";
import { account, base, clientsUnseen, native, rowsOf } from "./gateway-native.ts";

/** What a test changes of a question. */
type Question = Partial<Omit<Asked, "models">>;

/** A way from the AI SDK to a gateway. */
interface Way {
  readonly ask: (models: readonly string[], question?: Question) => Promise<Outcome>;
  readonly rows: typeof rowsOf;
}

const filled = (models: readonly string[], { headers, ...rest }: Question): Asked => ({
  models,
  gateway: "open",
  headers: native(headers),
  ...rest,
});

/** `ai-gateway-provider` has the hosted service's address built in: a gateway of one's own takes its place. */
const hosted = "https://gateway.ai.cloudflare.com/";
const ownFetch = globalThis.fetch;
function redirected(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const isHosted = typeof input === "string" && input.startsWith(hosted);
  return ownFetch(isHosted ? `${base}/${input.slice(hosted.length)}` : input, init);
}

/** One model in each format of the providers, and the tokens that it reports. */
const formats = [
  { model: "chat:gpt-4o", tokens: [11, 4] },
  { model: "responses:gpt-5", tokens: [12, 5] },
  { model: "anthropic:claude-x", tokens: [17, 6] },
  { model: "gemini:gemini-2.5-flash", tokens: [9, 7] },
] as const;

const httpWith =
  (apiKey: string): Way["ask"] =>
  (models, question = {}) => {
    const asked = filled(models, question);
    return askAiSdk({ accountId: account, gateway: asked.gateway, apiKey }, asked);
  };
const overHttp: Way = { ask: httpWith("unused"), rows: rowsOf };

let host: BindingHost;
const throughBinding: Way = {
  async ask(models, question = {}) {
    const body = JSON.stringify(filled(models, question));
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${host.url}/ask`, { method: "POST", headers, body });
    return (await response.json()) as Outcome;
  },
  rows: (event, count, gateway) => rowsOf(event, count, gateway, host.url),
};

beforeAll(async () => {
  globalThis.fetch = redirected;
  host = await startBindingHost(inject("target") as TargetName, inject("upstreamUrl"));
});
afterAll(async () => {
  globalThis.fetch = ownFetch;
  await host.stop();
});

describe.each([
  { name: "over HTTP", way: overHttp, unseen: clientsUnseen },
  { name: "through a binding", way: throughBinding, unseen: undefined },
])("ai with ai-gateway-provider, $name", ({ way, unseen }) => {
  it("generates text, and the log knows its tokens", async () => {
    const eventId = randomUUID();
    const options = { eventId, metadata: { team: "a", seats: 3, user: null } };
    const outcome = await way.ask(["chat:gpt-4o"], { options });
    expect(outcome).toMatchObject({ text: spoken, model: "gpt-4o", tokens: [11, 4] });
    expect(outcome.headers).toMatchObject({ "cf-aig-step": "0", "cf-aig-event-id": eventId });
    const [row] = await way.rows(eventId);
    expect(row).toMatchObject({ model: "gpt-4o", tokens_in: 11, tokens_out: 4, success: true });
    expect(JSON.parse(String(row?.["metadata"]))).toEqual({ team: "a", seats: 3 });
  });

  it.each(formats)("generates and streams text with $model", async ({ model, tokens }) => {
    for (const stream of [false, true]) {
      const eventId = randomUUID();
      const outcome = await way.ask([model], { stream, options: { eventId } });
      expect(outcome).toMatchObject({ text: spoken, tokens });
      expect(outcome.parts?.length).not.toBe(1);
      const [row] = await way.rows(eventId);
      expect([row?.["success"], row?.["tokens_in"], row?.["tokens_out"]]).toEqual([
        true,
        ...tokens,
      ]);
    }
  });

  it("calls a tool and goes on with its result, streamed or not", async () => {
    for (const model of ["chat:gpt-4o", "anthropic:claude-x"]) {
      for (const stream of [false, true]) {
        const outcome = await way.ask([model], { tools: true, stream });
        expect(outcome.text).toContain("Sunny in Köln");
      }
    }
  });

  it("falls back to the next model when a provider cannot be reached", async () => {
    for (const stream of [false, true]) {
      const outcome = await way.ask(["dead-host:x", "groq:llama"], { stream });
      expect(outcome).toMatchObject({ text: spoken, model: "llama", tokens: [11, 4] });
      expect(outcome.headers).toMatchObject({ "cf-aig-step": "1" });
    }
  });

  it("falls back to the next model when a provider refuses", async () => {
    const outcome = await way.ask(["chat:missing-model", "groq:llama"]);
    expect(outcome).toMatchObject({ text: spoken, model: "llama" });
  });

  it("gives its options to every model that it tries", async () => {
    const options = { eventId: randomUUID(), metadata: { team: "b" }, collectLog: true };
    const outcome = await way.ask(["chat:missing-model", "groq:llama"], { options });
    expect(outcome).toMatchObject({ text: spoken });
    expect(outcome.headers).toMatchObject({ "cf-aig-event-id": options.eventId });
    const rows = await way.rows(options.eventId, 2);
    expect(rows.map(({ step, metadata }) => [step, metadata])).toEqual([
      [0, '{"team":"b"}'],
      [1, '{"team":"b"}'],
    ]);
  });

  it("has the gateway try again", async () => {
    const eventId = randomUUID();
    const outcome = await way.ask(["chat:gpt-4o"], {
      headers: { "x-test-failures": "2" },
      options: { eventId, retries: { maxAttempts: 3, retryDelayMs: 1, backoff: "linear" } },
    });
    expect(outcome.text).toBe(spoken);
    expect(await way.rows(eventId, 3)).toHaveLength(3);
  });

  it("takes an answer from the cache, streamed or not", async () => {
    for (const stream of [false, true]) {
      const options = { cacheKey: randomUUID(), cacheTtl: 60 };
      const headers = { "x-test-id": randomUUID() };
      const first = await way.ask(["chat:gpt-4o"], { options, stream, headers });
      const second = await way.ask(["chat:gpt-4o"], { options, stream, headers });
      expect(first.headers).toMatchObject({ "cf-aig-cache-status": "MISS" });
      expect(second.headers).toMatchObject({ "cf-aig-cache-status": "HIT" });
      expect(second).toMatchObject({ text: spoken, tokens: [11, 4] });
    }
  });

  it("names a provider by its model through the unified provider", async () => {
    const outcome = await way.ask(["unified:groq/llama"], {
      headers: { authorization: "Bearer sk-it" },
    });
    expect(outcome).toMatchObject({ text: spoken, model: "llama" });
  });

  itUnless(unseen)("ends the provider's stream when it leaves", async () => {
    const eventId = randomUUID();
    const headers = { "x-test-hold": "true" };
    const outcome = await way.ask(["chat:gpt-4o"], {
      stream: true,
      abort: true,
      headers,
      options: { eventId },
    });
    expect(outcome.parts?.[0]).toBe(spokenParts[0]);
    expect(await way.rows(eventId)).toMatchObject([{ success: false }]);
  });

  it("gets the provider's own error, streamed or not", async () => {
    for (const stream of [false, true]) {
      const { error } = await way.ask(["chat:missing-model"], { stream });
      expect(error).toMatchObject({ name: "AI_APICallError", status: 404 });
      expect(error?.message).toContain("missing-model");
    }
  });

  it("gets a 502 when no provider can be reached", async () => {
    const { error } = await way.ask(["dead-host:x"]);
    expect(error).toMatchObject({ name: "AI_APICallError", status: 502 });
  });
});

describe("ai with ai-gateway-provider", () => {
  it("passes a gateway that wants a token with it, and not without", async () => {
    const gateway = "guarded";
    const authorized = await httpWith(gatewayToken)(["chat:m"], { gateway });
    expect(authorized).toMatchObject({ text: spoken });
    const { error } = await overHttp.ask(["chat:m"], { gateway });
    expect(error?.name).toBe("AiGatewayUnauthorizedError");
  });

  it("knows that a gateway does not exist, with a token only over HTTP", async () => {
    const gateway = "no-such-gateway";
    for (const ask of [httpWith(inject("token")), throughBinding.ask]) {
      const { error } = await ask(["chat:m"], { gateway });
      expect(error?.name).toBe("AiGatewayDoesNotExist");
    }
    const { error } = await overHttp.ask(["chat:m"], { gateway });
    expect(error?.name).toBe("AiGatewayUnauthorizedError");
  });

  it("leaves the credential to the operator's configuration when it has none", async () => {
    expect(await throughBinding.ask(["stored-key:m"])).toMatchObject({ text: spoken });
  });
});
