import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";

let gate: GatewayUnderTest;

beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

const required = { ...requiredSettings, cache_ttl: 300 };
const create = (id: string, more = {}) =>
  gate.manage("/gateways", { method: "POST", ...jsonInit({ id, ...required, ...more }) });

describe("gateways", () => {
  it("are created, read, changed, listed and deleted", async () => {
    expect((await create("g1", { authentication: true })).body.result).toMatchObject({
      id: "g1",
      authentication: true,
      cache_ttl: 300,
      is_default: false,
    });
    expect((await create("g1")).status).toBe(409);
    const put = {
      method: "PUT",
      ...jsonInit({
        ...required,
        authentication: undefined,
        cache_ttl: null,
        rate_limiting_interval: 60,
        rate_limiting_limit: 5,
      }),
    };
    expect((await gate.manage("/gateways/g1", put)).body.result).toMatchObject({
      authentication: true,
      cache_ttl: null,
      rate_limiting_limit: 5,
    });
    expect((await gate.manage("/gateways/g1")).body.result).toMatchObject({
      rate_limiting_limit: 5,
    });
    const ids = ((await gate.manage("/gateways")).body.result as { id: string }[]).map(
      ({ id }) => id,
    );
    expect(ids).toEqual(["closed", "g1", "open"]);
    expect((await gate.manage("/gateways?search=pe")).body.result).toHaveLength(1);
    expect((await gate.manage("/gateways/g1", { method: "DELETE" })).body.result).toMatchObject({
      id: "g1",
    });
    expect((await gate.manage("/gateways/g1")).status).toBe(404);
    expect((await gate.send("g1/openai/x", { ...jsonInit(chat), token: API_TOKEN })).status).toBe(
      400,
    );
  });

  it.each([
    [{ rate_limiting_limit: 5 }, "rate_limiting_interval"],
    [{ rate_limiting_limit: 5, rate_limiting_interval: 0 }, "rate_limiting_interval"],
    [{ rate_limiting_interval: 60 }, "rate_limiting_limit"],
  ])("refuse half a rate limit: %j", async (half, missing) => {
    const answer = await gate.manage("/gateways", {
      method: "POST",
      ...jsonInit({ id: "half", ...half }),
    });
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0]?.message).toContain(`Missing field "${missing}"`);
  });

  it("say of the default one that its first request makes it", async () => {
    const { status, body } = await gate.manage("/gateways/default/routes");
    expect([status, body.errors[0]?.message]).toEqual([
      404,
      'There is no gateway "default" in this account: its first request with a token makes it',
    ]);
  });

  it("answer a page past the end with an empty list", async () => {
    const { status, body } = await gate.manage("/gateways?page=99&per_page=100");
    expect([status, body.result]).toEqual([200, []]);
  });

  it.each([
    ["page=1&per_page=5", 2],
    ["page=1&per_page=2", 2],
    ["page=1&per_page=1", 1],
    ["page=2&per_page=1", 1],
    ["page=3&per_page=1", 0],
    ["search=pe", 1],
    ["search=nothing", 0],
  ])("count all gateways that fit, for %s", async (query, shown) => {
    const { body } = await gate.manage(`/gateways?${query}`);
    const total = query.startsWith("search") ? shown : 2;
    expect(body.result).toHaveLength(shown);
    expect(body.result_info).toMatchObject({ count: shown, total_count: total });
  });

  it("keep every change of several at once, and stay deleted", async () => {
    await create("busy");
    const put = (more: object) =>
      gate.manage("/gateways/busy", { method: "PUT", ...jsonInit({ ...required, ...more }) });
    const one = { log_management: 7 };
    const other = { retry_max_attempts: 3 };
    await Promise.all([put(one), put(other)]);
    expect((await gate.manage("/gateways/busy")).body.result).toMatchObject({ ...one, ...other });
    const deleted = gate.manage("/gateways/busy", { method: "DELETE" });
    await Promise.all([put(one), put(one), deleted, put(one), put(one), put(one)]);
    expect((await gate.manage("/gateways/busy")).status).toBe(404);
  });

  it("take effect at once", async () => {
    await create("g2");
    expect((await gate.send("g2/openai/x", jsonInit(chat))).status).toBe(200);
    await gate.manage("/gateways/g2", {
      method: "PUT",
      ...jsonInit({ ...required, authentication: true }),
    });
    expect((await gate.send("g2/openai/x", jsonInit(chat))).status).toBe(401);
  });

  it("that are declared keep their declared authentication and cannot be deleted", async () => {
    await gate.manage("/gateways/closed", {
      method: "PUT",
      ...jsonInit({ ...required, authentication: false }),
    });
    expect((await gate.send("open/openai/x", jsonInit(chat))).status).toBe(200);
    expect((await gate.manage("/gateways/open", { method: "DELETE" })).status).toBe(409);
  });

  it.each([
    [{ id: "a/b" }, /id/],
    [{ id: "x".repeat(65) }, /id/],
    [{ cache_ttl: -1 }, /cache_ttl/],
    [{ retry_max_attempts: 6 }, /retry_max_attempts/],
    [{ collect_logs: "yes" }, /collect_logs/],
    [{ guardrails: { prompt: { S1: "DROP" } } }, /guardrails/],
    [{ dlp: { enabled: true } }, /dlp/],
    [{ dlp: { enabled: true, action: "BLOCK", profiles: ["nobody"] } }, /no profile "nobody"/],
  ])("are refused with %j", async (more, message) => {
    const { status, body } = await create("bad", more);
    expect(status).toBe(400);
    expect(body.errors[0]?.message).toMatch(message);
  });

  it("accept protections that are switched off", async () => {
    expect(
      (await create("plain", { guardrails: null, dlp: { enabled: false }, otel: [], zdr: true }))
        .status,
    ).toBe(200);
  });
});

describe("settings of the hosted service", () => {
  it("are kept, but for a credential that nothing would use", async () => {
    const usage_events = [{ payload: '{"event_name":"tokens"}' }];
    const kept = { logpush: true, store_id: "s", workers_ai_billing_mode: "unified" };
    const stripe = { authorization: "Bearer sk_live_0123456789", usage_events };
    const made = (await create("hosted", { ...kept, stripe })).body.result;
    expect(made).toMatchObject({ ...kept, stripe: { authorization: "********", usage_events } });
    expect((await gate.manage("/gateways/hosted")).body.result).toEqual(made);
    for (const bad of [{}, { authorization: "x" }, { authorization: 1, usage_events }])
      expect((await create("never", { stripe: bad })).status).toBe(400);
  });
});

describe("a gateway's address", () => {
  it("begins with the configured origin, and never with a Host that a caller made up", async () => {
    const own = await gatewayUnderTest({ publicUrl: "https://ai.example" });
    try {
      const url = "/gateways/open/url/openai";
      const headers = { "x-forwarded-proto": "https" };
      const told = (await own.manage(url, { headers })).body.result;
      expect(told).toBe("https://ai.example/v1/acme/open/openai");
      expect((await gate.manage(url, { headers })).body.result).toBe("/v1/acme/open/openai");
    } finally {
      await own.close();
    }
  });

  it("is what a client's base URL is set to", async () => {
    const url = async (provider: string) =>
      (await gate.manage(`/gateways/open/url/${provider}`)).body.result;
    expect(await url("openai")).toBe("/v1/acme/open/openai");
    expect(await url("universal")).toBe("/v1/acme/open");
    expect((await gate.manage("/gateways/open/url/nope")).status).toBe(400);
    expect((await gate.manage("/gateways/none/url/openai")).status).toBe(404);
    expect(await gate.manage("/gateways/default/url/openai")).toMatchObject({ status: 200 });
  });
});

describe("rate limits", () => {
  it.each(["fixed", "sliding"])("are exact under concurrency (%s)", async (technique) => {
    const id = `limited-${technique}`;
    await create(id, {
      rate_limiting_interval: 3600,
      rate_limiting_limit: 5,
      rate_limiting_technique: technique,
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gate.send(`${id}/openai/x`, jsonInit(chat))),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused?.json()).toMatchObject({ error: [{ code: 2003 }] });
  });
});
