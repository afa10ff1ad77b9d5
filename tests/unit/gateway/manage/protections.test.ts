import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import type { ChatModel, InboundResponse } from "../../../../core/ports.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import {
  fakeTransport,
  jsonReply,
  sentHeaders,
  streamReply,
} from "../../../fakes/gateway-transport.ts";

const CARD = "4111 1111 1111 1111";
const egress = fakeTransport(() => jsonReply({}));

/** Says that prompts about bombs are unsafe. */
const judge: ChatModel = async (request) => {
  const content = (await request.text()).includes("bomb") ? "unsafe\nS9" : "safe";
  return Response.json({ choices: [{ message: { content } }] });
};

let gate: GatewayUnderTest;
beforeEach(async () => {
  egress.requests.length = 0;
  egress.bodies.length = 0;
  gate = await gatewayUnderTest({ judge }, { egress });
});
afterEach(() => gate.close());

async function protect(more: object): Promise<void> {
  await gate.create("own", more);
}

const reply = (
  content: string,
  usage: object = { prompt_tokens: 1000, completion_tokens: 100 },
): InboundResponse => jsonReply({ choices: [{ message: { role: "assistant", content } }], usage });

const ask = (
  content: string,
  headers: Record<string, string> = {},
  model: string = "gpt-4o",
): Promise<Response> =>
  gate.send(
    "own/openai/chat/completions",
    jsonInit({ model, messages: [{ role: "user", content }] }, headers),
  );

const errorOf = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { error: [{ code: number; message: string }] }).error[0];

describe("the cost of a request", () => {
  it("is in its log row, by the price table or by the caller's own price", async () => {
    await protect({});
    gate.transport.behave = () => reply("hi");
    await ask("one");
    await ask("two", {}, "no-such-model");
    await ask("three", { "cf-aig-custom-cost": '{"total_cost":0.5}' });
    gate.transport.behave = () => jsonReply({ error: "down" }, 500);
    await ask("four", { "cf-aig-custom-cost": '{"total_cost":0.5}' });
    const rows = await gate.logs("own", 4);
    expect(rows.map(({ cost, custom_cost: custom }) => [cost, custom])).toEqual([
      [undefined, false],
      [0.5, true],
      [undefined, false],
      [0.0035, false],
    ]);
  });
});

describe("spend limits", () => {
  const rule = { limit: 0.25, limitType: "cost", window: 3600, id: "all" };
  const paying = { "cf-aig-custom-cost": '{"total_cost":0.1}' };

  it("refuse with 429/2003 and the rule's name once the budget is spent, exactly under concurrency", async () => {
    await protect({ spend_limits: { rules: [rule] } });
    gate.transport.behave = () => reply("hi");
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask("x", paying)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await errorOf(refused as Response)).toEqual({
      code: 2003,
      message: expect.stringMatching(
        /^Spend limit reached: The rule "all" allows 0\.25 USD per 3600 s; 0\.05 USD are left, and this request may use 0\.1 USD\./,
      ),
    });
    expect(gate.transport.requests).toHaveLength(2);
  });

  it("count what logs do not keep, and give back what failed requests had set aside", async () => {
    await protect({ spend_limits: { rules: [rule] }, collect_logs: false });
    gate.transport.behave = () => jsonReply({ error: "down" }, 500);
    for (let i = 0; i < 5; i++) await (await ask("x")).text();
    for (let i = 0; i < 5; i++) expect((await ask("x", paying)).status).toBe(500);
    gate.transport.behave = () => reply("hi", { prompt_tokens: 100_000, completion_tokens: 0 });
    expect((await ask("x")).status).toBe(200);
    expect((await refusedAfter(() => ask("x"))).status).toBe(429);
  });

  it("keep the estimate of what was left before its answer began", async () => {
    await protect({ spend_limits: { rules: [{ ...rule, limit: 0.1 }] } });
    gate.transport.behave = ({ signal }) =>
      new Promise((_, reject) => {
        const left = (): void => reject(new TransportError("aborted", "The client went away"));
        signal?.addEventListener("abort", left, { once: true });
      });
    const client = new AbortController();
    const priced = { ...chat, model: "gpt-4o" };
    const leaving = gate.send("own/openai/chat/completions", {
      ...jsonInit(priced, paying),
      signal: client.signal,
    });
    while (gate.transport.requests.length === 0) await gate.platform.system.sleep(5);
    client.abort();
    await leaving.catch(() => undefined);
    gate.transport.behave = () => reply("hi");
    expect((await ask("x")).status).toBe(429);
  });

  it("name providers that exist, by any of their names", async () => {
    const slug = { name: "Mine", slug: "mine", base_url: "https://llm.example.com" };
    const made = await gate.manage("/custom-providers", { method: "POST", ...jsonInit(slug) });
    const { id } = made.body.result as { id: string };
    const limited = (...values: string[]) => ({
      ...requiredSettings,
      spend_limits: { rules: [{ ...rule, provider: { mode: "filter", values } }] },
    });
    await protect(limited("OpenAI", "x-ai", "google", "custom-mine"));
    const put = (settings: object) =>
      gate.manage("/gateways/own", { method: "PUT", ...jsonInit(settings) });
    const refused = await put(limited("openai", "antropic"));
    expect([refused.status, refused.body.errors[0]?.message]).toEqual([
      400,
      'spend_limits.rules.0.provider.values.1: there is no provider "antropic": did you mean "anthropic"?',
    ]);
    expect((await put(limited("custom-nobody"))).status).toBe(400);
    // A client sends back what it has read, also when the provider has gone since.
    expect((await gate.manage(`/custom-providers/${id}`, { method: "DELETE" })).status).toBe(200);
    expect((await put(limited("openai", "custom-mine"))).status).toBe(200);
  });

  it("let a universal request go on to a provider with a budget of its own", async () => {
    const openaiOnly = { ...rule, limit: 0, provider: { mode: "filter", values: ["openai"] } };
    await protect({ spend_limits: { rules: [openaiOnly] } });
    gate.transport.behave = () => reply("hi");
    const steps = ["openai", "groq"].map((provider) => ({
      provider,
      endpoint: "chat/completions",
      query: chat,
    }));
    const answer = await gate.send("own", jsonInit(steps));
    expect([answer.status, answer.headers.get("cf-aig-step")]).toEqual([200, "1"]);
  });

  /** What an answer has cost is entered just behind it. */
  async function refusedAfter(send: () => Promise<Response>): Promise<Response> {
    let answer = await send();
    await eventually(async () => {
      if (answer.status !== 200) return true;
      answer = await send();
      return false;
    }, "one is refused");
    return answer;
  }
});

describe("data loss prevention", () => {
  const dlp = (action: string, check: string[] = ["REQUEST", "RESPONSE"]): object => ({
    dlp: {
      enabled: true,
      policies: [{ id: "cards", enabled: true, action, check, profiles: ["financial"] }],
    },
  });

  it("blocks a request before the provider sees it, and keeps its text out of the log", async () => {
    await protect(dlp("BLOCK"));
    const answer = await ask(`pay with ${CARD}`);
    expect([answer.status, await errorOf(answer)]).toEqual([
      400,
      { code: 2029, message: "Request content blocked due to DLP policy violations: cards" },
    ]);
    expect(JSON.parse(answer.headers.get("cf-aig-dlp") ?? "")).toMatchObject({ action: "BLOCK" });
    expect(gate.transport.requests).toHaveLength(0);
    const [row] = await gate.logs("own", 1);
    expect(row).toMatchObject({ success: false, status_code: 400, dlp_action: "BLOCK" });
    expect(answer.headers.get("cf-aig-log-id")).toBe(row?.["id"]);
    const request = await gate.manageRaw(`/gateways/own/logs/${String(row?.["id"])}/request`);
    expect(await request.text()).not.toContain("4111");
  });

  it("flags and tells so in the header and in the log, which can be filtered by it", async () => {
    await protect(dlp("FLAG"));
    gate.transport.behave = () => reply("ok");
    const answer = await ask(CARD);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.headers.get("gw-aig-dlp") ?? "")).toMatchObject({ action: "FLAG" });
    expect((await ask("cats")).headers.get("cf-aig-dlp")).toBeNull();
    await gate.logs("own", 2);
    const filter = "filters.key=dlp_action&filters.operator=eq&filters.value=FLAG";
    const { body } = await gate.manage(`/gateways/own/logs?${filter}`);
    expect((body.result as object[]).length).toBe(1);
  });

  it("blocks an answer after collecting its stream, does not cache it, and still counts its cost", async () => {
    await protect({ ...dlp("BLOCK", ["RESPONSE"]), cache_ttl: 300 });
    const event = (content: string): string =>
      `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
    const usage = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1000, completion_tokens: 100 } })}\n\n`;
    gate.transport.behave = () =>
      streamReply([event("4111 1111"), event(" 1111 1111"), usage, "data: [DONE]\n\n"]);
    for (let i = 1; i <= 2; i++) {
      const answer = await ask("number?", { "accept-encoding": "gzip" });
      expect([answer.status, ((await errorOf(answer)) as { code: number }).code]).toEqual([
        400, 2030,
      ]);
      expect(gate.transport.requests).toHaveLength(i);
    }
    expect(sentHeaders(gate.transport.requests[0])["accept-encoding"]).toBeUndefined();
    const rows = await gate.logs("own", 2);
    expect(rows[0]).toMatchObject({
      success: false,
      dlp_action: "BLOCK",
      cost: 0.0035,
      tokens_in: 1000,
    });
  });

  it("passes a clean stream on in one piece", async () => {
    await protect(dlp("BLOCK"));
    gate.transport.behave = () => streamReply(["data: {}\n\n", "data: [DONE]\n\n"]);
    const answer = await ask("hello");
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await answer.text()).toBe("data: {}\n\ndata: [DONE]\n\n");
  });

  it("is final: no other step gets a blocked text", async () => {
    await protect(dlp("BLOCK"));
    const query = { model: "m", messages: [{ role: "user", content: CARD }] };
    const steps = ["openai", "groq"].map((provider) => ({
      provider,
      endpoint: "chat/completions",
      query,
    }));
    expect((await gate.send("own", jsonInit(steps))).status).toBe(400);
    expect(gate.transport.requests).toHaveLength(0);
  });

  it("does not answer from what another policy had let into the cache", async () => {
    await protect({ cache_ttl: 300 });
    gate.transport.behave = () => reply(CARD);
    expect((await ask("number?")).status).toBe(200);
    expect((await ask("number?")).headers.get("cf-aig-cache-status")).toBe("HIT");
    const changed = { ...requiredSettings, cache_ttl: 300, ...dlp("BLOCK") };
    expect(
      (await gate.manage("/gateways/own", { method: "PUT", ...jsonInit(changed) })).status,
    ).toBe(200);
    expect((await ask("number?")).status).toBe(400);
  });
});

describe("guardrails", () => {
  it("block a prompt with 424/2016 and let others pass", async () => {
    await protect({ guardrails: { prompt: { S9: "BLOCK" }, response: {} } });
    gate.transport.behave = () => reply("sure");
    const answer = await ask("how to build a bomb");
    expect([answer.status, await errorOf(answer)]).toEqual([
      424,
      { code: 2016, message: "Prompt blocked due to security configurations: S9" },
    ]);
    expect((await ask("how to bake")).status).toBe(200);
  });

  it("block an answer with 424/2017", async () => {
    await protect({ guardrails: { prompt: {}, response: { S9: "BLOCK" } } });
    gate.transport.behave = () => reply("a bomb is");
    const answer = await ask("explain");
    expect([answer.status, ((await errorOf(answer)) as { code: number }).code]).toEqual([
      424, 2017,
    ]);
  });
});

describe("traces", () => {
  const otel = [
    {
      url: "https://collector.example/v1/traces",
      headers: { "x-team": "team-secret" },
      authorization: "Bearer otel-secret",
    },
  ];
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";

  it("go to no address that will not be reached: that is said when it is stored", async () => {
    const refusing = {
      ...egress,
      refusal: (url: string) => (url.includes("10.0.0.1") ? "No" : null),
    };
    const own = await gatewayUnderTest({}, { egress: refusing });
    const write = (method: string, path: string, url: string, more: object = {}) => {
      const given = [{ url: "https://collector.example/" }, { url }];
      const body = { ...requiredSettings, ...more, otel: given };
      return own.manage(path, { method, ...jsonInit(body) });
    };
    try {
      const private_ = "http://10.0.0.1:4318/v1/traces";
      const made = await write("POST", "/gateways", private_, { id: "traced" });
      expect([made.status, made.body.errors[0]?.message]).toEqual([
        400,
        expect.stringMatching(/^otel\.1\.url: No\. .*"webhooks\.allowHosts"/),
      ]);
      expect(
        (await write("POST", "/gateways", "https://b.example/", { id: "traced" })).status,
      ).toBe(200);
      expect((await write("PUT", "/gateways/traced", private_)).status).toBe(400);
    } finally {
      await own.close();
    }
  });

  it("are exported with the credentials that nobody is shown", async () => {
    await protect({ otel });
    const shown = await gate.manage("/gateways/own");
    expect(JSON.stringify(shown.body)).not.toMatch(/-secret|sealed/);
    expect(JSON.stringify((await gate.manage("/gateways")).body)).not.toMatch(/-secret|sealed/);
    expect(shown.body.result).toMatchObject({
      otel: [{ url: otel[0]?.url, authorization: "********" }],
    });
    gate.transport.behave = () => reply("hi");
    await (
      await ask("hello", {
        traceparent: `00-${trace}-00f067aa0ba902b7-01`,
        "cf-aig-metadata": '{"team":"a"}',
      })
    ).text();
    await eventually(() => egress.requests.length > 0, "the trace is exported");
    expect(sentHeaders(egress.requests[0])).toMatchObject({
      authorization: "Bearer otel-secret",
      "x-team": "team-secret",
    });
    const exported = egress.bodies[0] ?? "";
    expect(exported).toContain(`"traceId":"${trace}"`);
    expect(exported).toContain('"parentSpanId":"00f067aa0ba902b7"');
    for (const key of [
      "gen_ai.request.model",
      "gen_ai.usage.input_tokens",
      "gen_ai.usage.cost",
      "gen_ai.prompt_json",
      "gen_ai.completion_json",
      "team",
    ]) {
      expect(exported).toContain(`"key":"${key}"`);
    }
    expect(exported).not.toContain("sk-");
  });

  it("leave the bodies out when the caller says so, and a malformed header is named", async () => {
    await protect({ otel });
    gate.transport.behave = () => reply("hi");
    await (
      await ask("hello", { "cf-aig-collect-log": "false", "cf-aig-collect-log-payload": "false" })
    ).text();
    await eventually(() => egress.requests.length > 0, "the trace is exported");
    expect(egress.bodies[0]).toContain("gen_ai.request.model");
    expect(egress.bodies[0]).not.toContain("prompt_json");
    const bad = await ask("hello", { "cf-aig-otel-trace-id": "xyz" });
    expect([bad.status, JSON.stringify(await errorOf(bad))]).toEqual([
      400,
      expect.stringContaining("cf-aig-otel-trace-id"),
    ]);
  });
});

describe("the universal WebSocket's address", () => {
  it("wants an upgrade and the gateway's token", async () => {
    const upgrade = {
      upgrade: "websocket",
      connection: "Upgrade",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-version": "13",
    };
    expect((await gate.send("open", { method: "GET" })).status).toBe(426);
    expect((await gate.send("closed", { method: "GET", headers: upgrade })).status).toBe(401);
    expect((await gate.send("nowhere", { method: "GET", headers: upgrade })).status).toBe(401);
    const known = { ...upgrade, "cf-aig-authorization": `Bearer ${API_TOKEN}` };
    expect((await gate.send("nowhere", { method: "GET", headers: known })).status).toBe(400);
    const wrong = { ...upgrade, "sec-websocket-protocol": "cf-aig-authorization.wrong" };
    expect((await gate.send("closed", { method: "GET", headers: wrong })).status).toBe(401);
    expect(GATEWAY_TOKEN).not.toBe("wrong");
  });
});
