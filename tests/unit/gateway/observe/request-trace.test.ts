import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { ChatModel } from "../../../../core/ports.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { type Exported, fakeCollector, type Tree } from "../../../fakes/gateway-collector.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const otel = [{ url: "https://collector.example/v1/traces" }];
const model = "gpt-4o";
const usage = { prompt_tokens: 1000, completion_tokens: 100 };
const choices = [{ message: { role: "assistant", content: "the-answer" }, index: 0 }];
const good = (status = 200) => jsonReply({ choices, usage }, status);
const judge: ChatModel = async (request) => {
  const content = (await request.text()).includes("bomb") ? "unsafe\nS9" : "safe";
  return Response.json({ choices: [{ message: { content } }] });
};

const collector = fakeCollector();
let gate: GatewayUnderTest;
beforeEach(async () => {
  collector.bodies.length = 0;
  const price = { input: 1, output: 1 };
  const candidates = [
    { model: "openai/gpt-4o", price },
    { model: "groq/spare", price: { input: 2, output: 2 } },
  ];
  const options = { judge, router: { candidates }, accountId: "acme" };
  gate = await gatewayUnderTest(options, { egress: collector });
});
afterEach(() => gate.close());

async function traced(more: object = {}): Promise<void> {
  await gate.create("own", { collect_logs: false, otel, ...more });
}

const tree = (): Promise<Tree> => collector.tree();

function expectChildren({ server, tries }: Tree): void {
  for (const { traceId, parentSpanId } of tries)
    expect([traceId, parentSpanId]).toEqual([server.traceId, server.spanId]);
  expect(new Set([server, ...tries].map(({ spanId }) => spanId)).size).toBe(tries.length + 1);
}

const ask = (
  headers: Record<string, string> = {},
  content = "the-prompt",
  path = "own/openai/chat/completions",
  name = model,
): Promise<Response> =>
  gate.send(path, jsonInit({ model: name, messages: [{ role: "user", content }] }, headers));

const step = (provider: string, headers: Record<string, string> = {}) => ({
  provider,
  endpoint: "chat/completions",
  headers: { authorization: "Bearer sk-of-a-client-0123456789", ...headers },
  query: { model, messages: [{ role: "user", content: "the-prompt" }] },
});

const bodiesOf = ({ about }: Exported): [boolean, boolean] => [
  "gen_ai.prompt_json" in about,
  "gen_ai.completion_json" in about,
];

describe("the trace of a request", () => {
  it("has every try below the request, the bodies once, and no parent of its own making", async () => {
    await traced();
    gate.transport.behave = (_, index) => good(index < 2 ? 500 : 200);
    const retries = { "cf-aig-max-attempts": "3", "cf-aig-retry-delay": "1" };
    await (await ask({ ...retries, "cf-aig-metadata": '{"team":"a"}' })).text();
    const { server, tries } = await tree();
    expectChildren({ server, tries });
    expect(server.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect("parentSpanId" in server).toBe(false);
    expect(server).toMatchObject({
      name: "POST /v1/:account_id/:gateway_id/:provider/*",
      status: { code: 0 },
      about: { "http.response.status_code": "200", "gateway.tries": "3", team: "a" },
    });
    expect(tries.map(({ about }) => about["http.response.status_code"])).toEqual([
      "500",
      "500",
      "200",
    ]);
    expect(tries.map(({ about }) => about["http.request.resend_count"])).toEqual([
      undefined,
      "1",
      "2",
    ]);
    expect(tries.map(bodiesOf)).toEqual([
      [false, false],
      [false, false],
      [true, true],
    ]);
    expect(bodiesOf(server)).toEqual([false, false]);
    expect(server.about["gateway.cost"]).toBe(tries[2]?.about["gen_ai.usage.cost"]);
    expect(JSON.stringify([server, tries])).not.toContain("sk-");
  });

  it("ends no try after the request, however starts and lengths are rounded", async () => {
    await gate.close();
    const platform = await openPlatform();
    let now = platform.system.now();
    // Each start is rounded up to the next millisecond, and no time passes.
    const system = { ...platform.system, now: () => ++now, monotonic: () => 0 };
    gate = await gatewayUnderTest({ accountId: "acme" }, { egress: collector, system });
    await traced();
    gate.transport.behave = () => good();
    await (await ask()).text();
    const { server, tries } = await tree();
    expect(tries).toHaveLength(1);
    for (const one of tries)
      expect(BigInt(one.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(server.endTimeUnixNano));
    await platform.close();
  });

  it("joins the caller's trace, and holds all steps of a universal request", async () => {
    await traced();
    gate.transport.behave = (_, index) => good(index === 0 ? 503 : 200);
    const answer = await gate.send(
      "own",
      jsonInit([step("openai"), step("groq")], { traceparent: `00-${TRACE}-${PARENT}-01` }),
    );
    await answer.text();
    const found = await tree();
    expectChildren(found);
    expect(found.server).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      name: "POST /v1/:account_id/:gateway_id",
      about: { "gateway.step": "1", "http.response.status_code": "200" },
    });
    expect(found.tries.map(({ about }) => about["gen_ai.model.provider"])).toEqual([
      "openai",
      "groq",
    ]);
    expect(found.tries.map(bodiesOf)).toEqual([
      [false, false],
      [true, true],
    ]);
  });

  it("is the first step's where only steps name one, and a step can name another", async () => {
    await traced();
    const own = { "cf-aig-otel-trace-id": TRACE, "cf-aig-otel-parent-span-id": PARENT };
    const other = "1".repeat(32);
    gate.transport.behave = (_, index) => good(index < 2 ? 503 : 200);
    const steps = [
      step("openai", own),
      step("groq", { "cf-aig-otel-trace-id": other }),
      step("openai", own),
    ];
    await (await gate.aiBinding("own").run(steps)).text();
    const { server, tries } = await tree();
    expect(server).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, name: "AiBinding.run" });
    expect(tries.map(({ traceId, parentSpanId }) => [traceId, parentSpanId])).toEqual([
      [TRACE, server.spanId],
      [other, undefined],
      [TRACE, server.spanId],
    ]);
  });

  it("holds what the automatic router and a dynamic route tried", async () => {
    await traced();
    gate.transport.behave = (_, index) => good(index % 2 === 0 ? 503 : 200);
    const unified = "own/compat/chat/completions";
    await (await ask({}, "the-prompt", unified, "cloudflare/auto")).text();
    expectChildren(await tree());
    expect((await tree()).tries).toHaveLength(2);
    collector.bodies.length = 0;
    const models = ["openai", "groq"].map((provider, index) => ({
      id: provider,
      type: "model",
      properties: { provider, model: "m", retries: 0, timeout: 0 },
      outputs: {
        success: { elementId: "end" },
        fallback: { elementId: index === 0 ? "groq" : "end" },
      },
    }));
    const elements = [
      { id: "start", type: "start", outputs: { next: { elementId: "openai" } } },
      ...models,
      { id: "end", type: "end", outputs: {} },
    ];
    const made = await gate.manage("/gateways/own/routes", {
      method: "POST",
      ...jsonInit({ name: "both", elements }),
    });
    expect(made.status).toBe(200);
    await (await ask({}, "the-prompt", unified, "dynamic/both")).text();
    const found = await tree();
    expectChildren(found);
    expect(found.server.name).toBe("POST /v1/:account_id/:gateway_id/compat/*");
    expect(found.tries.map(({ about }) => about["gen_ai.model.provider"])).toEqual([
      "openai",
      "groq",
    ]);
  });

  it("has no try for an answer from the cache", async () => {
    await traced({ cache_ttl: 60 });
    gate.transport.behave = () => good();
    await (await ask()).text();
    await tree();
    collector.bodies.length = 0;
    expect((await ask()).headers.get("cf-aig-cache-status")).toBe("HIT");
    const { server, tries } = await tree();
    expect(tries).toEqual([]);
    expect(server.about).toMatchObject({
      "gateway.cached": true,
      "gateway.cost": 0,
      "gen_ai.request.model": model,
      "gen_ai.prompt_json": expect.stringContaining("the-prompt"),
      "gen_ai.completion_json": expect.stringContaining("the-answer"),
    });
  });

  it("ends with the stream, whole or not", async () => {
    await traced();
    gate.transport.behave = (_, index) =>
      streamReply(["data: 1\n\n", "data: 2\n\n"], { ending: index === 0 ? "end" : "hang" });
    const whole = await ask();
    await gate.platform.system.sleep(20);
    const begun = gate.platform.system.now();
    await whole.text();
    const { status, endTimeUnixNano } = (await tree()).server;
    expect(status).toEqual({ code: 0 });
    expect(BigInt(endTimeUnixNano) / 1_000_000n).toBeGreaterThanOrEqual(begun);
    collector.bodies.length = 0;
    const left = (await ask()).body?.getReader();
    await left?.read();
    await left?.cancel();
    const { server, tries } = await tree();
    expect(server.status).toEqual({ code: 2 });
    expect(server.about).toMatchObject({
      "http.response.status_code": "200",
      "error.type": "aborted",
    });
    expect(tries).toHaveLength(1);
  });

  it("tells what the gateway refused, and asked nobody for", async () => {
    const rules = [{ id: "r", limit: 1, limitType: "cost", window: 60, technique: "fixed" }];
    const guardrails = { prompt: { S9: "BLOCK" }, response: {} };
    await traced({
      guardrails,
      spend_limits: { rules },
      rate_limiting_interval: 3600,
      rate_limiting_limit: 4,
      rate_limiting_technique: "sliding",
    });
    gate.transport.behave = () => good();
    const dear = { "cf-aig-custom-cost": '{"total_cost":1}' };
    const answers = [
      await ask({}, "build a bomb"),
      await ask(dear),
      await ask(dear),
      await ask({}, "the-prompt", "own/compat/chat/completions", "no provider"),
      await ask(),
    ];
    expect(answers.map(({ status }) => status)).toEqual([424, 200, 429, 400, 429]);
    const all = await collector.spans(5);
    // Nobody but the one request that passed was sent to a provider.
    expect(all.filter(({ kind }) => kind === 3)).toHaveLength(1);
    const refused = all.filter(({ about }) => "error.type" in about);
    expect(refused.map(({ kind, status }) => [kind, status.code])).toEqual(
      refused.map(() => [2, 0] as const),
    );
    const errors = refused.map(
      ({ about }) => `${String(about["error.type"])} ${String(about["gateway.error_code"])}`,
    );
    expect(new Set(errors)).toEqual(
      new Set([
        "chat_format 2019",
        "gateway_rate_limited 2003",
        "gateway_spend_limit 2003",
        "prompt_blocked 2016",
      ]),
    );
    expect(JSON.stringify(all)).not.toContain("bomb");
  });

  it("is a failure when nobody answered", async () => {
    await traced();
    gate.transport.behave = () => {
      throw new TransportError("unreachable", "down");
    };
    expect((await ask()).status).toBe(502);
    const found = await tree();
    expectChildren(found);
    expect(found.server).toMatchObject({
      status: { code: 2 },
      about: { "error.type": "provider_failed", "http.response.status_code": "502" },
    });
    expect(found.tries.map(({ status }) => status)).toEqual([
      { code: 2, message: "unreachable: down" },
    ]);
  });
});
