import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { retryAfterOf } from "../../../../core/gateway/call/attempt.ts";
import { isRetryable, pauseAfter, type RetryPolicy } from "../../../../core/gateway/call/policy.ts";
import { gatewayEngine } from "../../../../core/gateway/engine.ts";
import { type RateLimit, type RateState, rateWindow } from "../../../../core/work/rate-window.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import {
  type Behaviour,
  jsonReply,
  sentHeaders,
  streamReply,
} from "../../../fakes/gateway-transport.ts";

describe("pauseAfter()", () => {
  const policy = (backoff: RetryPolicy["backoff"]): RetryPolicy => ({
    attempts: 5,
    delay: 100,
    backoff,
    timeout: 600_000,
  });

  it.each([
    ["constant", [100, 100, 100]],
    ["linear", [100, 200, 300]],
    ["exponential", [100, 200, 400]],
  ] as const)("grows as %s says", (backoff, pauses) => {
    expect([1, 2, 3].map((attempt) => pauseAfter(attempt, policy(backoff), null))).toEqual(pauses);
  });

  it("respects Retry-After for 5 s at most, and not beyond the request timeout", () => {
    expect(pauseAfter(1, policy("constant"), 700)).toBe(700);
    expect(pauseAfter(1, policy("constant"), 30_000)).toBe(5000);
    expect(pauseAfter(1, { ...policy("constant"), delay: 20_000 }, 30_000)).toBe(20_000);
    expect(pauseAfter(1, { ...policy("constant"), timeout: 500 }, 700)).toBe(500);
  });
});

it("retryAfterOf() reads milliseconds before seconds", () => {
  const asked = (...headers: [string, string][]) =>
    retryAfterOf({ status: 429, headers, body: null }, { now: () => 0 });
  expect(asked(["retry-after-ms", "1500"], ["retry-after", "9"])).toBe(1500);
  expect(asked(["retry-after-ms", "soon"], ["retry-after", "9"])).toBe(9000);
  expect(asked()).toBeNull();
});

it("isRetryable() follows the status unless the provider says otherwise", () => {
  expect(
    [408, 409, 429, 500, 503, 200, 400, 401, 404].map((status) => isRetryable(status, null)),
  ).toEqual([true, true, true, true, true, false, false, false, false]);
  expect(isRetryable(500, "false")).toBe(false);
  expect(isRetryable(400, "true")).toBe(true);
  // A success was paid for: no header makes it worth another.
  expect(isRetryable(200, "true")).toBe(false);
});

describe("rateWindow()", () => {
  const settings = (technique: "fixed" | "sliding"): RateLimit => ({
    limit: 2,
    interval: 10_000,
    technique,
  });

  it("aligns fixed windows to the clock", () => {
    const window = rateWindow();
    const admit = (now: number): number => window.admit(settings("fixed"), now);
    expect([admit(9000), admit(9500), admit(9900), admit(10_000)]).toEqual([0, 0, 100, 0]);
  });

  it("rolls sliding windows", () => {
    const window = rateWindow();
    const admit = (now: number): number => window.admit(settings("sliding"), now);
    expect([admit(9000), admit(9500), admit(10_000), admit(19_000), admit(19_100)]).toEqual([
      0, 0, 9000, 0, 400,
    ]);
  });

  it("of a limit that was lowered says when so many have left that one fits", () => {
    const window = rateWindow();
    const given = (limit: number) => ({ ...settings("sliding"), limit });
    for (const at of [9000, 9500, 12_000]) expect(window.admit(given(3), at)).toBe(0);
    expect(window.admit(given(2), 13_000)).toBe(6500);
    expect(window.admit(given(1), 13_000)).toBe(9000);
    expect(window.admit(given(1), 22_000)).toBe(0);
  });

  it.each(["fixed", "sliding"] as const)("goes on from the stored state, %s", (technique) => {
    const window = rateWindow();
    const given = settings(technique);
    expect([window.admit(given, 11_000), window.admit(given, 12_000)]).toEqual([0, 0]);
    const state = JSON.parse(JSON.stringify(window.state(given))) as RateState;
    const next = rateWindow(state);
    expect(next.admit(given, 19_000)).toBe(technique === "fixed" ? 1000 : 2000);
    expect(next.admit(given, 21_001)).toBe(0);
  });

  it("stores many times together, none of them too soon", () => {
    const given = { ...settings("sliding"), limit: 100_000 };
    const window = rateWindow();
    let refused = 0;
    for (let i = 0; i < 50_000; i++) refused += window.admit(given, 100_000 + i / 10);
    expect(refused).toBe(0);
    const { times } = window.state(given);
    expect(times.length).toBeLessThanOrEqual(1001);
    expect(times.reduce((sum, [, count]) => sum + count, 0)).toBe(50_000);
    expect(rateWindow({ start: 0, admitted: 0, times }).size).toBe(50_000);
    let last = -1;
    // Never sooner than the latest of those that are stored together.
    for (const [at, count] of times)
      expect(at).toBeGreaterThanOrEqual(100_000 + (last += count) / 10);
  });
});

describe("forwarding", () => {
  let gate: GatewayUnderTest;
  beforeAll(async () => {
    gate = await gatewayUnderTest();
  });
  afterAll(() => gate.close());
  beforeEach(() => {
    gate.transport.requests.length = 0;
    gate.transport.bodies.length = 0;
  });
  const retry = { "cf-aig-max-attempts": "3", "cf-aig-retry-delay": "1" };
  const failing =
    (times: number, status = 500): Behaviour =>
    (_, index) =>
      index < times ? jsonReply({ no: index }, status) : jsonReply({ ok: true });
  const universal = (steps: unknown, headers = {}) => gate.send("open", jsonInit(steps, headers));
  const step = (provider: string, more = {}) => ({
    provider,
    endpoint: "chat/completions",
    headers: { authorization: `Bearer sk-${provider}` },
    query: chat,
    ...more,
  });

  it("tries again until an answer comes, one row per try", async () => {
    gate.transport.behave = failing(2);
    const headers = { ...retry, "cf-aig-event-id": "retried" };
    const response = await gate.send("open/openai/x", jsonInit(chat, headers));
    expect([response.status, gate.transport.requests.length]).toEqual([200, 3]);
    const rows = await gate.rowsOf("open", "retried", 3);
    expect(rows.map(({ success }) => success)).toEqual([true, false, false]);
  });

  it("gives the last answer when all tries fail, and does not retry what cannot help", async () => {
    gate.transport.behave = failing(9, 503);
    expect((await gate.send("open/openai/x", jsonInit(chat, retry))).status).toBe(503);
    expect(gate.transport.requests.length).toBe(3);
    gate.transport.requests.length = 0;
    gate.transport.bodies.length = 0;
    gate.transport.behave = failing(9, 400);
    expect((await gate.send("open/openai/x", jsonInit(chat, retry))).status).toBe(400);
    expect(gate.transport.requests.length).toBe(1);
  });

  const never: Behaviour = () => new Promise(() => undefined);

  it("request-timeout alone bounds a request, and leaves a row", async () => {
    gate.transport.behave = never;
    const headers = { "cf-aig-request-timeout": "30", "cf-aig-event-id": "bounded" };
    const response = await gate.send("open/openai/x", jsonInit(chat, headers));
    expect([response.status, gate.transport.requests.length]).toEqual([502, 1]);
    expect(await response.json()).toMatchObject({
      errors: [
        {
          code: 2005,
          failure: "timeout",
          message:
            'Failed to get response from provider "openai": No answer within 30 ms (timeout). Check the network and firewalls, or allow more time',
        },
      ],
    });
    const [row] = await gate.rowsOf("open", "bounded", 1);
    const note = "timeout: No answer within 30 ms";
    expect(row).toMatchObject({ success: false, provider: "openai", note });
  });

  it("request-timeout bounds every try, the last one and that of the last step too", async () => {
    gate.transport.behave = never;
    const headers = { ...retry, "cf-aig-max-attempts": "2", "cf-aig-request-timeout": "30" };
    expect((await gate.send("open/openai/x", jsonInit(chat, headers))).status).toBe(502);
    expect((await universal([step("openai"), step("groq")], headers)).status).toBe(502);
    expect(gate.transport.requests.length).toBe(6);
  });

  it("every try, of custom providers too, has 10 minutes to begin where nothing else is said", async () => {
    gate.transport.behave = failing(2);
    await gate.send("open/openai/x", jsonInit(chat, retry));
    expect(gate.transport.requests.map(({ beginMs }) => beginMs)).toEqual(
      Array.from({ length: 3 }, () => 600_000),
    );
    expect(gate.transport.requests.map(({ silence }) => silence?.ms)).toEqual(
      Array.from({ length: 3 }, () => 600_000),
    );
    const hurried = await gatewayUnderTest({ firstByteSeconds: 0.03 });
    hurried.transport.behave = never;
    const late = await hurried.send("open/openai/x", jsonInit(chat));
    const following = { "cf-aig-cache-ttl": "60" };
    const both = await Promise.all(
      [1, 2].map(() => hurried.send("open/openai/x", jsonInit(chat, following))),
    );
    expect([late, ...both].map(({ status }) => status)).toEqual([502, 502, 502]);
    await hurried.close();
    expect(() => gatewayEngine({ platform: gate.platform, firstByteSeconds: 0 })).toThrow(
      "firstByteSeconds",
    );
    expect(() => gatewayEngine({ platform: gate.platform, silenceSeconds: 0 })).toThrow(
      "silenceSeconds",
    );
  });

  it("a provider that asks for more than 5 s of patience does not hold up the next step", async () => {
    const busy = { ...retry, "cf-aig-max-attempts": "5", "cf-aig-retry-delay": "5000" };
    gate.transport.behave = ({ url }) =>
      url.includes("api.openai.com")
        ? jsonReply({}, 429, [["retry-after", "30"]])
        : jsonReply({ ok: 1 });
    const response = await universal([step("openai"), step("groq")], busy);
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    expect(gate.transport.requests.length).toBe(2);
  });

  it("falls through the steps of a universal request and names the one that answered", async () => {
    gate.transport.behave = (_, index) =>
      index === 0 ? jsonReply({ no: 1 }, 401) : streamReply(["data: x\n\n"]);
    const response = await universal([
      step("openai"),
      step("mistral", { endpoint: "/v1/chat/completions?a=1" }),
    ]);
    expect(await response.text()).toBe("data: x\n\n");
    expect(response.headers.get("cf-aig-step")).toBe("1");
    expect(gate.transport.requests.map(({ url }) => url)).toEqual([
      "https://api.openai.com/v1/chat/completions",
      "https://api.mistral.ai/v1/chat/completions?a=1",
    ]);
    expect(gate.transport.requests.map((request) => sentHeaders(request)["authorization"])).toEqual(
      ["Bearer sk-openai", "Bearer sk-mistral"],
    );
  });

  it("falls through an error with status 200 that had to be translated", async () => {
    gate.transport.behave = (_, index) =>
      index === 0 ? jsonReply({ error: { message: "no" } }, 200) : jsonReply({ ok: true });
    const response = await universal([
      step("anthropic", { endpoint: "chat/completions" }),
      step("openai"),
    ]);
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    expect(await response.json()).toEqual({ ok: true });
  });

  it("answers the last step's failure when every step fails, unreachable ones included", async () => {
    gate.transport.behave = (_, index) => {
      if (index === 0) throw new TransportError("unreachable", "down");
      return jsonReply({ error: "last" }, 429);
    };
    const response = await universal([step("openai"), step("groq")]);
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([429, "1"]);
    gate.transport.behave = () => Promise.reject(new TransportError("unreachable", "down"));
    expect((await universal([step("openai")])).status).toBe(502);
  });

  it("obeys a step's config over the request's headers", async () => {
    gate.transport.behave = failing(1);
    const steps = [step("openai", { config: { maxAttempts: 2, retryDelay: 1 } })];
    expect((await universal(steps, { "cf-aig-max-attempts": "1" })).status).toBe(200);
  });

  it.each([
    [{}],
    [[]],
    [[{ provider: "openai" }]],
    [[{ provider: "openai", endpoint: "x", headers: { "a b": "c" } }]],
    [[{ provider: "openai", endpoint: "x", headers: { a: "b\r\nc: d" } }]],
    [[{ provider: "openai", endpoint: "x", config: { maxAttempts: 9 } }]],
    [Array.from({ length: 21 }, () => step("openai"))],
  ])("refuses the malformed universal request %j", async (steps) => {
    expect((await universal(steps)).status).toBe(400);
    expect(gate.transport.requests).toEqual([]);
  });

  it("dispatches the unified endpoint by model", async () => {
    gate.transport.behave = () => jsonReply({ ok: true });
    const body = { ...chat, model: "mistral/mistral-small" };
    const response = await gate.send(
      "open/compat/chat/completions",
      jsonInit(body, { authorization: "Bearer sk-m" }),
    );
    expect(response.status).toBe(200);
    expect(gate.transport.requests[0]?.url).toBe("https://api.mistral.ai/v1/chat/completions");
    expect(JSON.parse(gate.transport.bodies[0] ?? "")).toMatchObject({ model: "mistral-small" });
    expect(sentHeaders(gate.transport.requests[0])["authorization"]).toBe("Bearer sk-m");
  });

  it("answers 400/2019 for a body nested beyond any meaning", async () => {
    const nested = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
    const body = `{"model":"openai/gpt-4o","messages":[],"x":${nested}}`;
    const response = await gate.send("open/compat/chat/completions", { body });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: [{ code: 2019 }] },
    ]);
  });

  it.each(["gpt-4o", "/x", "nope/x", "elevenlabs/x", "openai/"])(
    "answers 400/2019 for the model %s",
    async (model) => {
      const response = await gate.send(
        "open/compat/chat/completions",
        jsonInit({ ...chat, model }),
      );
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: [{ code: 2019 }] },
      ]);
    },
  );

  it("takes the gateway token from Authorization on the unified endpoint and never forwards it", async () => {
    const { GATEWAY_TOKEN, API_TOKEN } = await import("../../../fakes/gateway-app.ts");
    const body = jsonInit(
      { ...chat, model: "openai/gpt" },
      { authorization: `Bearer ${GATEWAY_TOKEN}` },
    );
    expect((await gate.send("closed/compat/chat/completions", body)).status).toBe(200);
    expect(sentHeaders(gate.transport.requests[0])["authorization"]).toBeUndefined();
    const open = jsonInit(
      { ...chat, model: "openai/gpt" },
      { authorization: `Bearer ${API_TOKEN}` },
    );
    await gate.send("open/compat/chat/completions", open);
    expect(sentHeaders(gate.transport.requests[1])["authorization"]).toBeUndefined();
    expect((await gate.send("closed/compat/chat/completions", jsonInit(chat))).status).toBe(401);
  });
});
