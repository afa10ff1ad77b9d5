import { openAiEmbedder } from "../../../core/search/mod.ts";
import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../core/api.ts";
import type { PlatformApiOptions } from "../../../core/config/platform-api-options.ts";
import { newToken } from "../../../core/auth/token-format.ts";
import type { Platform } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { parseExposition } from "../../fakes/gateway-exposition.ts";

const TOKEN = "token-of-the-configuration";
const bearer = { authorization: `Bearer ${TOKEN}` };

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Setup {
  readonly api: PlatformApi;
  readonly platform: Platform;
  readonly lines: readonly Line[];
  /** The access log's line about a route, once it is there. */
  line(route: string): Promise<Line["fields"]>;
}

const opened: Platform[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((platform) => platform.close()));
});

async function setup(
  options: Partial<PlatformApiOptions> = {},
  ports: Partial<Platform> = {},
): Promise<Setup> {
  const real = await openPlatform();
  opened.push(real);
  const lines: Line[] = [];
  const platform: Platform = {
    ...real,
    ...ports,
    log: (level, message, fields = {}) => lines.push({ level, message, fields }),
  };
  const api = platformApi({
    platform,
    demo: true,
    accessLog: true,
    metrics: true,
    tokens: [{ token: TOKEN, permissions: ["*"], accounts: ["*"] }],
    ...options,
  });
  const found = (route: string): Line | undefined =>
    lines.findLast(({ message, fields }) => message === "Request" && fields["route"] === route);
  return {
    api,
    platform,
    lines,
    async line(route) {
      await eventually(() => found(route) !== undefined, `a line about ${route}`);
      return found(route)?.fields ?? {};
    },
  };
}

const chat = (stream: boolean): RequestInit => ({
  method: "POST",
  headers: { "cf-aig-authorization": `Bearer ${TOKEN}`, "content-type": "application/json" },
  body: JSON.stringify({ model: "echo", stream, messages: [{ role: "user", content: "Hello" }] }),
});

describe("the access log", () => {
  it("says of a served request what was asked, how it went and who asked", async () => {
    const { api, line } = await setup();
    const response = await api.request("/client/v4/accounts/local/tokens", { headers: bearer });
    const text = await response.text();
    const fields = await line("/client/v4/accounts/:account_id/tokens");
    expect(fields).toMatchObject({
      part: "platform",
      method: "GET",
      status: 200,
      bytes: new TextEncoder().encode(text).byteLength,
      request_id: response.headers.get("x-request-id"),
    });
    expect(fields["caller"]).toMatch(/^[0-9a-f]{8}$/);
    expect(fields["ms"]).toBeGreaterThanOrEqual(0);
    expect(fields["reason"]).toBeUndefined();
  });

  it("takes over the caller's request id, and no other text in its place", async () => {
    const { api } = await setup();
    const sent = async (id: string): Promise<string | null> =>
      (await api.request("/healthz", { headers: { "x-request-id": id } })).headers.get(
        "x-request-id",
      );
    await expect(sent("trace-1")).resolves.toBe("trace-1");
    await expect(sent('x" forged="1')).resolves.toMatch(/^[0-9a-f-]{36}$/);
  });

  it("takes no request id that holds a token, nor the credential that came with it", async () => {
    const shut = "token-of-a-gateway-0123";
    const { api, lines } = await setup({ gateway: { gateways: { shut: { tokens: [shut] } } } });
    const secret = newToken((length) => crypto.getRandomValues(new Uint8Array(length)));
    const key = "key-of-a-provider";
    for (const id of [TOKEN, `a:${secret}`, `b.${key}`, shut]) {
      const headers = { "x-request-id": id, authorization: `Bearer ${key}` };
      const response = await api.request("/client/v4/accounts/local/tokens", { headers });
      expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    }
    await api.request(`/${shut}`);
    await eventually(() => lines.length >= 5, "five lines");
    for (const text of [TOKEN, secret, key, shut])
      expect(JSON.stringify(lines)).not.toContain(text);
  });

  it("says why it refused a stranger, a lack of permission and an unknown path", async () => {
    const weak = { token: "token-that-may-little", permissions: ["Account Read" as const] };
    const { api, line } = await setup({ tokens: [{ ...weak, accounts: ["*"] }] });
    await api.request("/client/v4/accounts/local/webhooks/endpoints");
    await expect(line("/client/v4/accounts/:account_id/webhooks/endpoints")).resolves.toMatchObject(
      { status: 401, error: "unauthorized", reason: expect.stringContaining("Authorization") },
    );
    await api.request("/client/v4/accounts/local/tokens", {
      headers: { authorization: `Bearer ${weak.token}` },
    });
    await expect(line("/client/v4/accounts/:account_id/tokens")).resolves.toMatchObject({
      status: 403,
      reason: expect.stringContaining("API Tokens Read"),
    });
    await api.request("/nowhere/of/mine");
    await expect(line("*")).resolves.toMatchObject({ status: 404, part: "none" });
  });

  it("never shows a token, whatever place a caller puts it in", async () => {
    const { api, lines, line } = await setup();
    const secret = newToken((length) => crypto.getRandomValues(new Uint8Array(length)));
    await api.request(`/v1/local/${secret}/echo/x?token=${secret}`, chat(false));
    await api.request(`/client/v4/accounts/local/ai-search/instances/${secret}`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    await api.request(`/v1/local/${TOKEN}/echo/x`, chat(false));
    await line("/v1/:account_id/:gateway_id/*");
    expect(JSON.stringify(lines)).not.toContain(secret);
    expect(JSON.stringify(lines)).not.toContain(TOKEN);
  });

  it("names the route of a path right below /v1", async () => {
    const { api, line } = await setup();
    await api.request("/v1/chat/completions", { method: "POST" });
    expect(await line("/v1/chat/completions")).toMatchObject({ part: "gateway", status: 401 });
    await api.request("/v1/models/");
    expect(await line("*")).toMatchObject({ part: "none", status: 404 });
  });

  it("tells callers apart by a hash, however often they come", async () => {
    const { api, lines } = await setup();
    const ask = async (token: string): Promise<void> => {
      await api.request("/client/v4/accounts/local/tokens", {
        headers: { authorization: `Bearer ${token}` },
      });
    };
    // One is longer than what is remembered.
    const tokens = [TOKEN, "another-token", "x".repeat(600)];
    for (const token of [...tokens, ...tokens]) await ask(token);
    await eventually(() => lines.length >= 6, "six lines");
    const callers = lines.map(({ fields }) => fields["caller"]);
    expect(callers.slice(0, 3)).toEqual(callers.slice(3, 6));
    expect(new Set(callers).size).toBe(3);
    for (const caller of callers) expect(caller).toMatch(/^[0-9a-f]{8}$/);
  });

  it("keeps probes that find nothing wrong for the level debug", async () => {
    const closing = new AbortController();
    const real = await openPlatform();
    opened.push(real);
    const ports = { system: { ...real.system, closing: closing.signal } };
    const { api, lines } = await setup({}, ports);
    await api.request("/healthz");
    await api.request("/readyz");
    closing.abort();
    await api.request("/readyz");
    await eventually(() => lines.length >= 3, "three lines");
    expect(lines.map(({ level }) => level)).toEqual(["debug", "debug", "warn"]);
  });

  it("counts the bytes of the gateway's answers, whole and streamed, and names its log row", async () => {
    const { api, line, lines } = await setup();
    const route = "/v1/:account_id/:gateway_id/*";
    const whole = await api.request("/v1/local/default/echo/chat/completions", chat(false));
    const bytes = (await whole.arrayBuffer()).byteLength;
    const first = await line(route);
    expect(first).toMatchObject({
      part: "gateway",
      status: 200,
      bytes,
      request_id: whole.headers.get("cf-aig-request-id"),
    });
    const streamed = await api.request("/v1/local/default/echo/chat/completions", chat(true));
    const all = (await streamed.arrayBuffer()).byteLength;
    await eventually(
      () => lines.some(({ fields }) => fields["route"] === route && fields["bytes"] === all),
      "the line of the stream",
    );
  });

  it("writes nothing, and counts nothing, where it is off", async () => {
    const { api, lines } = await setup({ accessLog: false, metrics: false });
    await api.request("/healthz");
    await expect(api.request("/metrics", { headers: bearer })).resolves.toHaveProperty(
      "status",
      404,
    );
    expect(lines).toEqual([]);
  });
});

describe("/metrics", () => {
  it("counts requests by route and status, beside the gateway's families", async () => {
    const { api } = await setup({ gateway: { metrics: true } });
    await (await api.request("/v1/local/default/echo/chat/completions", chat(false))).text();
    await api.request("/client/v4/accounts/local/tokens");
    const response = await api.request("/metrics", { headers: bearer });
    expect(response.status).toBe(200);
    const text = await response.text();
    const families = parseExposition(text);
    expect(families).toBeDefined();
    expect(text).toContain(
      'causey_http_requests_total{part="gateway",method="POST",route="/v1/:account_id/:gateway_id/*",status="200"} 1\n',
    );
    expect(text).toContain('route="/client/v4/accounts/:account_id/tokens",status="401"} 1\n');
    expect(text).toContain("causey_gateway_requests_total{");
    expect(text).toMatch(/causey_part_ready\{part="database"\} 1\n/);
  });

  it("counts webhooks by source, and deliveries by type and endpoint, for those who may read them", async () => {
    const reader = { token: "reader-of-the-gateway", permissions: ["AI Gateway Read"] as const };
    const { api } = await setup(
      {
        tokens: [
          { token: TOKEN, permissions: ["*"], accounts: ["*"] },
          { ...reader, accounts: ["*"] },
        ],
        webhooks: { sources: { shop: { scheme: "generic", secret: "a secret of the shop" } } },
      },
      { egress: { send: () => Promise.resolve({ status: 500, headers: [], body: null }) } },
    );
    const call = async (path: string, body: object): Promise<string> => {
      const init = { method: "POST", headers: bearer, body: JSON.stringify(body) };
      const url = `/client/v4/accounts/local/webhooks${path}`;
      const { result } = (await (await api.request(url, init)).json()) as {
        result: { id: string };
      };
      return result.id;
    };
    const settings = { url: "https://receiver.test/a", retry_delays_seconds: [] };
    const endpoint = await call("/endpoints", settings);
    await call("/send", { type: 'order."paid"', payload: 1 });
    await api.request("/webhooks/shop/thing", { method: "POST", body: "{}" });
    const read = async (token: string): Promise<string> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await api.request("/metrics", { headers })).text();
    };
    const labels = `type="order.\\"paid\\"",endpoint="${endpoint}"`;
    const lines = [
      `causey_webhook_attempts_total{${labels},outcome="delivered"} 0\n`,
      `causey_webhook_attempts_total{${labels},outcome="failed"} 1\n`,
      `causey_webhook_deliveries_dead_total{${labels}} 1\n`,
      "causey_webhook_deliveries_pending 0\n",
      'causey_webhook_events_total{source="shop",outcome="received"} 1\n',
      'causey_webhook_events_total{source="shop",outcome="refused"} 1\n',
    ];
    await eventually(async () => {
      const text = await read(TOKEN);
      return lines.every((line) => text.includes(line));
    }, "all is counted");
    expect(parseExposition(await read(TOKEN))).toBeDefined();
    expect(await read(reader.token)).not.toContain("causey_webhook");
  });

  it("speaks OpenMetrics with one end", async () => {
    const { api } = await setup({ gateway: { metrics: true } });
    const response = await api.request("/metrics", {
      headers: { ...bearer, accept: "application/openmetrics-text" },
    });
    expect(response.headers.get("content-type")).toMatch(/^application\/openmetrics-text/);
    const text = await response.text();
    expect(text.split("# EOF\n")).toHaveLength(2);
    expect(text.endsWith("# EOF\n")).toBe(true);
  });

  it("is for those who may read the gateway's", async () => {
    const { api } = await setup({
      tokens: [{ token: "reader-of-searches", permissions: ["AI Search Read"], accounts: ["*"] }],
    });
    expect((await api.request("/metrics")).status).toBe(401);
    const headers = { authorization: "Bearer reader-of-searches" };
    expect((await api.request("/metrics", { headers })).status).toBe(403);
  });
});

describe("/readyz", () => {
  const answer = async (api: PlatformApi): Promise<{ status: number; body: ReadyBody }> => {
    const response = await api.request("/readyz");
    return { status: response.status, body: (await response.json()) as ReadyBody };
  };
  interface ReadyBody {
    readonly status: string;
    readonly reason?: string;
    readonly parts: Readonly<Record<string, { status: string; reason?: string }>>;
  }

  it("tells how every part is, and stays ready without a browser", async () => {
    const real = await openPlatform();
    opened.push(real);
    const capabilities = { ...real.capabilities, browser: "No browser was found" };
    const { api } = await setup({}, { capabilities });
    const { status, body } = await answer(api);
    expect(status).toBe(200);
    expect(body.parts["database"]).toEqual({ status: "ready" });
    expect(body.parts["rendering"]).toEqual({
      status: "unavailable",
      reason: "No browser was found",
    });
  });

  it("is 503 while the server shuts down", async () => {
    const closing = new AbortController();
    const real = await openPlatform();
    opened.push(real);
    const { api } = await setup({}, { system: { ...real.system, closing: closing.signal } });
    expect((await answer(api)).status).toBe(200);
    closing.abort();
    const { status, body } = await answer(api);
    expect(status).toBe(503);
    expect(body.reason).toBe("The server is shutting down");
  });

  it("names the model endpoint whose last request failed, and not its address", async () => {
    let isBroken = true;
    const { api } = await setup({
      search: {
        embedder: {
          model: "small",
          dimensions: 3,
          embed: (texts) =>
            isBroken
              ? Promise.reject(new TypeError("http://10.0.0.7:9/ refused"))
              : Promise.resolve(texts.map(() => new Float32Array([1, 0, 0]))),
        },
      },
    });
    const root = "/client/v4/accounts/local/ai-search/instances";
    const json = { ...bearer, "content-type": "application/json" };
    await api.request(root, { method: "POST", headers: json, body: '{"id":"docs"}' });
    const search = async (): Promise<void> => {
      const body = JSON.stringify({ query: "hello" });
      await api.request(`${root}/docs/search`, { method: "POST", headers: json, body });
    };
    await search();
    const failing = await answer(api);
    expect(failing.status).toBe(200);
    expect(failing.body.parts["search"]?.status).toBe("failing");
    expect(failing.body.parts["search"]?.reason).toContain('embedder "small"');
    expect(JSON.stringify(failing.body)).not.toContain("10.0.0.7");
    isBroken = false;
    await search();
    expect((await answer(api)).body.parts["search"]).toEqual({ status: "ready" });
  });

  it.each([
    [400, "ready"],
    [413, "ready"],
    [401, "failing"],
    [429, "failing"],
    [500, "failing"],
  ])("takes status %i of an embedder for: %s", async (status, told) => {
    const asks = { send: () => Promise.resolve({ status, headers: [], body: null }) };
    const endpoint = { baseUrl: "https://e.test/v1", model: "small", dimensions: 3 };
    const { api } = await setup({ search: { embedder: openAiEmbedder(endpoint, asks) } });
    const root = "/client/v4/accounts/local/ai-search/instances";
    const json = { ...bearer, "content-type": "application/json" };
    await api.request(root, { method: "POST", headers: json, body: '{"id":"docs"}' });
    const body = JSON.stringify({ query: "hello" });
    await api.request(`${root}/docs/search`, { method: "POST", headers: json, body });
    expect((await answer(api)).body.parts["search"]?.status).toBe(told);
  });
});
