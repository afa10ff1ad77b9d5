import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import { webConsole } from "../../../core/console/mod.ts";
import type { PlatformApiOptions } from "../../../core/config/platform-api-options.ts";
import { newKey } from "../../../core/auth/token-format.ts";
import type { Platform } from "../../../core/ports.ts";

const TOKEN = "token-of-the-operator-0123";
const GATEWAY_TOKEN = "token-of-the-gateway-0123";
const chat = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "Hello" }] });
const json = { "content-type": "application/json" };

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

async function setup(options: Partial<PlatformApiOptions> = {}): Promise<PlatformApi> {
  const real = await openPlatform();
  opened.push(real);
  const platform = {
    ...real,
    // Time stands still, so that no failure comes back while a slow machine asks.
    system: { ...real.system, monotonic: () => 1000 },
    clientAddress: (request: Request) => request.headers.get("x-peer"),
  };
  return platformApi({
    platform,
    console: webConsole,
    demo: true,
    tokens: [{ token: TOKEN, permissions: ["*"], accounts: ["*"] }],
    gateway: {
      gateways: {
        shut: { tokens: [GATEWAY_TOKEN] },
        open: { authentication: false },
      },
    },
    ...options,
  });
}

type Ask = (token: string, peer: string) => Promise<Response>;

/** Every way in that a guesser could try. */
const ways: Readonly<Record<string, (api: PlatformApi) => Ask>> = {
  "the API": (api) => async (token, peer) =>
    api.request("/client/v4/accounts/local/tokens", {
      headers: { authorization: `Bearer ${token}`, "x-peer": peer },
    }),
  "the login of the console": (api) => async (token, peer) =>
    api.request("/console/session", {
      method: "POST",
      headers: { ...json, "x-causey-console": "1", "x-peer": peer },
      body: JSON.stringify({ token }),
    }),
  "the links of the console": (api) => async (token, peer) =>
    api.request("/console/links", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "x-peer": peer },
    }),
  "a gateway": (api) => async (token, peer) =>
    api.request("/v1/local/shut/echo/chat/completions", {
      method: "POST",
      headers: { ...json, "cf-aig-authorization": `Bearer ${token}`, "x-peer": peer },
      body: chat,
    }),
  "a gateway's unified endpoint": (api) => async (token, peer) =>
    api.request("/v1/local/shut/compat/chat/completions", {
      method: "POST",
      headers: { ...json, authorization: `Bearer ${token}`, "x-peer": peer },
      body: chat,
    }),
  "an agent's query": (api) => async (token, peer) =>
    api.request(`/agents/webhook-agent/one/events?token=${token}`, { headers: { "x-peer": peer } }),
  "taking a stream up again": (api) => async (token, peer) =>
    api.request("/client/v4/accounts/local/ai-gateway/gateways/shut/run/one/resume", {
      headers: { authorization: `Bearer ${token}`, "x-peer": peer },
    }),
  "REST inference": (api) => async (token, peer) =>
    api.request("/client/v4/accounts/local/ai/v1/chat/completions", {
      method: "POST",
      headers: { ...json, authorization: `Bearer ${token}`, "x-peer": peer },
      body: chat,
    }),
};

async function status(answer: Promise<Response>): Promise<number> {
  const { status: code, body } = await answer;
  await body?.cancel();
  return code;
}

describe("a token without the scheme Bearer", () => {
  it("opens no gateway over HTTP", async () => {
    const api = await setup();
    const ask = async (path: string, headers: Record<string, string>): Promise<number> =>
      status(
        Promise.resolve(
          api.request(path, { method: "POST", headers: { ...json, ...headers }, body: chat }),
        ),
      );
    const path = "/v1/local/shut/echo/chat/completions";
    expect(await ask(path, { "cf-aig-authorization": GATEWAY_TOKEN })).toBe(401);
    expect(await ask(path, { "cf-aig-authorization": `bearer ${GATEWAY_TOKEN}` })).toBe(200);
    const compat = "/v1/local/shut/compat/chat/completions";
    expect(await ask(compat, { authorization: GATEWAY_TOKEN })).toBe(401);
  });
});

describe("failed logins", () => {
  for (const [name, way] of Object.entries(ways))
    it(`by ${name} are limited for their address, and others are let in`, async () => {
      const api = await setup();
      const ask = way(api);
      for (let at = 0; at < 100; at++)
        expect(await status(ask(`guess-number-${at}-of-many`, "192.0.2.1"))).toBe(401);
      const refused = await ask("guess-number-100-of-many", "192.0.2.1");
      expect(refused.status).toBe(429);
      expect(refused.headers.get("retry-after")).toBe("1");
      await refused.body?.cancel();
      // The right one is a guess there, too, and good elsewhere.
      expect(await status(ask(TOKEN, "192.0.2.1"))).toBe(429);
      expect([401, 429]).not.toContain(await status(ask(TOKEN, "192.0.2.2")));
    });

  it("lock nobody out that came from there with a good token", async () => {
    const api = await setup();
    const ask = ways["the API"]?.(api);
    const run = ways["a gateway"]?.(api);
    if (ask === undefined || run === undefined) throw new Error("No way in");
    const headers = { ...json, authorization: `Bearer ${TOKEN}`, "x-peer": "192.0.2.1" };
    const made = await api.request("/client/v4/accounts/local/tokens", {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "made", policies: [POLICY] }),
    });
    const { result } = (await made.json()) as { result: { value: string } };
    expect(await status(run(GATEWAY_TOKEN, "192.0.2.1"))).toBe(200);
    for (let at = 0; at < 120; at++) await status(ask("guess-of-somebody-else", "192.0.2.1"));
    expect(await status(ask("guess-of-somebody-else", "192.0.2.1"))).toBe(429);
    expect(await status(ask(TOKEN, "192.0.2.1"))).toBe(200);
    expect(await status(ask(result.value, "192.0.2.1"))).toBe(200);
    expect(await status(run(GATEWAY_TOKEN, "192.0.2.1"))).toBe(200);
  });

  it("are those of virtual keys, too", async () => {
    const api = await setup();
    const run = ways["a gateway"]?.(api);
    if (run === undefined) throw new Error("No way in");
    const key = (): string => newKey((length) => crypto.getRandomValues(new Uint8Array(length)));
    for (let at = 0; at < 100; at++) expect(await status(run(key(), "192.0.2.1"))).toBe(401);
    expect(await status(run(key(), "192.0.2.1"))).toBe(429);
  });

  it("are wrong tokens at an open gateway, too, which lets strangers in all the same", async () => {
    const api = await setup({
      gateway: {
        gateways: { open: { authentication: false } },
        providers: { openai: { apiKey: "sk-of-the-operator", baseUrl: "http://127.0.0.1:1" } },
      },
    });
    const run = async (slug: string, token: string, peer = "192.0.2.1"): Promise<number> =>
      status(
        Promise.resolve(
          api.request(`/v1/local/open/${slug}/chat/completions`, {
            method: "POST",
            headers: { ...json, "cf-aig-authorization": `Bearer ${token}`, "x-peer": peer },
            body: chat,
          }),
        ),
      );
    // Whoever guesses right may use the operator's key.
    for (let at = 0; at < 100; at++) expect(await run("openai", `guess-number-${at}`)).toBe(401);
    expect(await run("openai", TOKEN)).toBe(401);
    expect(await run("openai", TOKEN, "192.0.2.2")).not.toBe(401);
    expect(await run("echo", "guess-number-100-of-many")).toBe(200);
    const ask = ways["the API"]?.(api);
    expect(await status(ask?.("one-more-guess-of-many", "192.0.2.1") ?? Promise.reject())).toBe(
      429,
    );
  });

  it("are wrong tokens of connections to an open gateway", async () => {
    const api = await setup();
    const connect = async (at: number): Promise<number> => {
      const headers = {
        connection: "Upgrade",
        upgrade: "websocket",
        "cf-aig-authorization": `guess-number-${at}-of-many`,
        "x-peer": "192.0.2.1",
      };
      return status(Promise.resolve(api.request("/v1/local/open", { headers })));
    };
    for (let at = 0; at < 100; at++) expect([401, 429]).not.toContain(await connect(at));
    expect(await connect(100)).toBe(429);
  });

  it("are no requests of an open gateway, whatever key they forward", async () => {
    const api = await setup();
    const run = async (): Promise<number> =>
      status(
        Promise.resolve(
          api.request("/v1/local/open/compat/chat/completions", {
            method: "POST",
            headers: { ...json, authorization: "Bearer key-of-a-provider", "x-peer": "192.0.2.1" },
            body: JSON.stringify({ ...(JSON.parse(chat) as object), model: "echo/echo" }),
          }),
        ),
      );
    for (let at = 0; at < 110; at++) expect(await run()).toBe(200);
    const ask = ways["the API"]?.(api);
    expect(await status(ask?.("a-first-guess-of-many", "192.0.2.1") ?? Promise.reject())).toBe(401);
  });
});

const POLICY = {
  effect: "allow",
  permission_groups: [{ id: "a74722d66c6beafaf9734b4f84be9f26" }],
  resources: { "com.cloudflare.api.account.local": "*" },
};
