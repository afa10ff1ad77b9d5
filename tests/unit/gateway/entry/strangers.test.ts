import { connect } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gatewayEngine } from "../../../../core/gateway/engine.ts";
import { gateway } from "../../../../core/gateway/mod.ts";
import { universalSockets } from "../../../../core/gateway/realtime/connect.ts";
import type { ActorRef } from "../../../../core/ports.ts";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import { sentHeaders } from "../../../fakes/gateway-transport.ts";

const STORED = "sk-stored-0123456789abcdef";
const CONFIGURED = "gsk-configured-0123456789";
const providers = {
  groq: { apiKey: CONFIGURED },
  "custom-own": { baseUrl: "https://own.example", apiKey: CONFIGURED },
};
const gateways = { open: { authentication: false }, closed: { tokens: [GATEWAY_TOKEN] } };
const router = {
  candidates: [{ model: "openai/gpt-4o-mini", price: { input: 1, output: 1 } }],
};

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({ providers, gateways, router });
  for (const slug of ["openai", "elevenlabs"]) await storeKey("open", slug);
});
afterEach(() => gate.close());

async function storeKey(id: string, slug: string): Promise<void> {
  const body = { alias: "default", default_config: true, provider_slug: slug, secret: STORED };
  const init = { method: "POST", ...jsonInit(body) };
  expect((await gate.manage(`/gateways/${id}/provider_configs`, init)).status).toBe(200);
}

const create = (settings: object) =>
  gate.manage("/gateways", { method: "POST", ...jsonInit({ ...requiredSettings, ...settings }) });
const model = { ...chat, model: "openai/gpt-4o-mini" };
const step = { provider: "openai", endpoint: "chat/completions", query: chat };
const elements = [
  { id: "s", type: "start", outputs: { next: { elementId: "m" } } },
  {
    id: "m",
    type: "model",
    properties: { provider: "openai", model: "gpt-4o-mini", retries: 0, timeout: 1000 },
    outputs: { success: { elementId: "e" }, fallback: { elementId: "e" } },
  },
  { id: "e", type: "end", outputs: {} },
];

/** Every way over HTTP to a provider that the operator has a key for. */
const ways: readonly (readonly [name: string, path: string, body: unknown])[] = [
  ["native", "open/openai/chat/completions", chat],
  ["native, a configured key", "open/groq/chat/completions", chat],
  ["native, a configured custom provider", "open/custom-own/x", chat],
  ["compat", "open/compat/chat/completions", model],
  ["compat, responses", "open/compat/responses", { model: model.model, input: "hi" }],
  ["compat, translated", "open/compat/messages", { ...model, max_tokens: 9 }],
  ["universal", "open", [step]],
  ["universal, compat", "open", [{ ...step, provider: "compat", query: model }]],
  ["dynamic route", "open/compat/chat/completions", { ...chat, model: "dynamic/way" }],
  ["automatic router", "open/compat/chat/completions", { ...chat, model: "cloudflare/auto" }],
];

describe("a stranger on a gateway without authentication", () => {
  beforeEach(async () => {
    const init = { method: "POST", ...jsonInit({ name: "way", elements }) };
    expect((await gate.manage("/gateways/open/routes", init)).status).toBe(200);
  });

  it.each(ways)("gets none of the operator's keys: %s", async (_, path, body) => {
    for (const token of [null, "not-a-token-of-this-gateway"]) {
      const answer = await gate.send(path, { token, ...jsonInit(body) });
      expect(answer.status).toBe(401);
      const text = await answer.text();
      expect(text).toContain("only for requests with a gateway token");
      expect(text).toContain('"code":2009');
    }
    expect(gate.transport.requests).toEqual([]);
  });

  it.each(ways)("is served with a token: %s", async (_, path, body) => {
    expect((await gate.send(path, { token: API_TOKEN, ...jsonInit(body) })).status).toBe(200);
    const sent = JSON.stringify(gate.transport.requests.map(({ headers }) => headers));
    expect(sent).toMatch(/sk-stored-0123456789abcdef|gsk-configured-0123456789/);
  });

  it("is served with a key of its own, and where there is no key to use", async () => {
    const own = await gate.send("open/openai/x", jsonInit(chat, { authorization: "Bearer sk-me" }));
    expect(own.status).toBe(200);
    expect(sentHeaders(gate.transport.requests.at(-1))["authorization"]).toBe("Bearer sk-me");
    const none = await gate.send("open/mistral/v1/chat/completions", jsonInit(chat));
    expect(none.status).toBe(200);
    expect(sentHeaders(gate.transport.requests.at(-1))["authorization"]).toBeUndefined();
  });

  it("cannot name a key by its alias", async () => {
    const named = jsonInit(chat, { "cf-aig-byok-alias": "other" });
    expect((await gate.send("open/mistral/v1/chat/completions", named)).status).toBe(401);
  });

  it("gets no answer from the cache that the operator's key paid for", async () => {
    await create({ id: "cached", cache_ttl: 60, stored_keys_for_anonymous: false });
    await storeKey("cached", "openai");
    const path = "cached/openai/chat/completions";
    expect((await gate.send(path, { token: API_TOKEN, ...jsonInit(chat) })).status).toBe(200);
    expect((await gate.send(path, jsonInit(chat))).status).toBe(401);
  });

  it("gets no secret header of a custom provider", async () => {
    const custom = {
      name: "Lab",
      slug: "lab",
      base_url: "https://lab.example",
      enable: true,
      headers: JSON.stringify({ "x-lab-token": STORED }),
    };
    const init = { method: "POST", ...jsonInit(custom) };
    expect((await gate.manage("/custom-providers", init)).status).toBe(200);
    const own = { authorization: "Bearer sk-me" };
    expect((await gate.send("open/custom-lab/x", jsonInit(chat))).status).toBe(401);
    expect((await gate.send("open/custom-lab/x", jsonInit(chat, own))).status).toBe(401);
    expect(gate.transport.requests).toEqual([]);
  });

  it("may use the operator's keys where the gateway says so", async () => {
    await create({ id: "generous", stored_keys_for_anonymous: true });
    await create({ id: "closefisted", stored_keys_for_anonymous: false });
    for (const id of ["generous", "closefisted"]) await storeKey(id, "openai");
    expect((await gate.send("generous/openai/x", jsonInit(chat))).status).toBe(200);
    expect((await gate.send("closefisted/openai/x", jsonInit(chat))).status).toBe(401);
    const app = gateway({
      platform: { ...gate.platform, transport: gate.transport },
      providers,
      gateways: { open: { authentication: false, storedKeysForAnonymous: true } },
    });
    const url = "http://gateway.test/v1/acme/open/groq/x";
    expect((await app.fetch(new Request(url, { method: "POST", ...jsonInit(chat) }))).status).toBe(
      200,
    );
  });
});

describe("code that is trusted", () => {
  it("uses the keys: the binding, and a host that answers for its callers", async () => {
    const answer = await gate.aiBinding("open").run([step]);
    expect(answer.status).toBe(200);
    const hosted = { ...gate.platform, transport: gate.transport };
    const app = gateway({ platform: hosted, auth: "off", providers, gateways });
    const url = "http://gateway.test/v1/acme/open/groq/x";
    expect((await app.fetch(new Request(url, { method: "POST", ...jsonInit(chat) }))).status).toBe(
      200,
    );
  });
});

describe("a universal WebSocket on a gateway without authentication", () => {
  const message = JSON.stringify({
    type: "universal.create",
    request: { eventId: "e", ...step, headers: {} },
  });

  it.each([
    ["no token", null, "universal.error"],
    ["a wrong token", "cf-aig-authorization.wrong-token", "universal.error"],
    ["a token", `cf-aig-authorization.${GATEWAY_TOKEN}`, "universal.created"],
  ])("uses the keys as the connection's token allows: %s", async (_, protocol, type) => {
    const tokens = { open: { authentication: false, tokens: [GATEWAY_TOKEN] } };
    const platform = { ...gate.platform, transport: gate.transport };
    const deps = gatewayEngine({ platform, gateways: tokens });
    const sockets = universalSockets(deps);
    const ref: ActorRef = {
      call: () => Promise.reject(new Error("Not called")),
      fetch: (request) => sockets.connect(request, { account: "acme", gateway: "open" }),
    };
    const socket = await connect(ref, protocol === null ? [] : [protocol]);
    socket.send(message);
    const frame: unknown = JSON.parse(String(await socket.next()));
    expect(frame).toMatchObject({ type });
  });
});

describe("a gateway that is created without the setting authentication", () => {
  const { authentication: _, stored_keys_for_anonymous: __, ...rest } = requiredSettings;

  it("has it on, and the answer says so", async () => {
    const init = { method: "POST", ...jsonInit({ ...rest, id: "plain" }) };
    const answer = (await (await gate.manageRaw("/gateways", init)).json()) as {
      result: object;
      messages: { message: string }[];
    };
    expect(answer.result).toMatchObject({ id: "plain", authentication: true });
    expect(answer.messages[0]?.message).toContain("authentication was not given and is on");
    expect((await gate.send("plain/echo/chat/completions", jsonInit(chat))).status).toBe(401);
    const token = API_TOKEN;
    const opened = await gate.send("plain/echo/chat/completions", { token, ...jsonInit(chat) });
    expect(opened.status).toBe(200);
  });

  it("is open when that was asked for, and the answer has no message", async () => {
    const init = { method: "POST", ...jsonInit({ ...rest, id: "said", authentication: false }) };
    const answer = await (await gate.manageRaw("/gateways", init)).json();
    expect(answer).toMatchObject({ result: { authentication: false }, messages: [] });
  });
});
