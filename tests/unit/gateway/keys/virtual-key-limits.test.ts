import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

interface Shown {
  readonly id: string;
  readonly key: string;
  readonly preview: string;
  readonly enabled: boolean;
  readonly usage: readonly { limitType: string; used: number; remaining: number }[];
}

const STORED = "sk-stored-0123456789abcdef";
let gate: GatewayUnderTest;

beforeEach(async () => {
  gate = await gatewayUnderTest({ metrics: true });
  for (const slug of ["openai", "anthropic", "google-ai-studio", "azure-openai"]) {
    const body = { alias: "default", default_config: true, provider_slug: slug, secret: STORED };
    await gate.manage("/gateways/closed/provider_configs", { method: "POST", ...jsonInit(body) });
  }
  gate.transport.behave = () => jsonReply(answer());
});
afterEach(() => gate.close());

const gpt = { ...chat, model: "gpt-4o" };
const answer = (tokensIn = 100, tokensOut = 50) => ({
  model: "gpt-4o",
  choices: [{ message: { role: "assistant", content: "hi" } }],
  usage: { prompt_tokens: tokensIn, completion_tokens: tokensOut },
});
async function make(settings: object = {}): Promise<Shown> {
  const init = { method: "POST", ...jsonInit({ name: "team", ...settings }) };
  const { status, body } = await gate.manage("/virtual-keys", init);
  if (status !== 200) throw new Error(JSON.stringify(body.errors));
  return body.result;
}
const show = async (id: string): Promise<Shown> =>
  (await gate.manage(`/virtual-keys/${id}`)).body.result;
const change = (id: string, settings: object) =>
  gate.manage(`/virtual-keys/${id}`, { method: "PATCH", ...jsonInit(settings) });
const ask = (key: string, body: object = gpt, path = "closed/openai/v1/chat/completions") =>
  gate.send(path, jsonInit(body, { authorization: `Bearer ${key}` }));
const messageOf = async (response: Response): Promise<string> =>
  JSON.stringify(await response.json());
/** What a key has used, once it is what is expected: answers are entered behind the client's back. */
async function used(id: string, wanted: readonly number[]): Promise<void> {
  await expect.poll(async () => (await show(id)).usage.map((one) => one.used)).toEqual(wanted);
}

describe("the limits of a virtual key", () => {
  it("count requests exactly, however many come at once", async () => {
    const { key, id } = await make({
      limits: [{ limitType: "requests", limit: 10, window: 3600 }],
    });
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(key)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(40);
    const refused = answers.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused === undefined ? "" : await messageOf(refused)).toContain(
      "10 requests per 3600 s",
    );
    await used(id, [10]);
    expect((await show(id)).usage).toMatchObject([{ limit: 10, remaining: 0 }]);
    // Raised, it goes on from where it was.
    await change(id, { limits: [{ limitType: "requests", limit: 11, window: 3600 }] });
    expect([(await ask(key)).status, (await ask(key)).status]).toEqual([200, 429]);
  });

  it("count tokens in and out", async () => {
    const { key, id } = await make({ limits: [{ limitType: "tokens", limit: 200 }] });
    expect((await (await ask(key)).json()) as object).toMatchObject({ model: "gpt-4o" });
    await used(id, [150]);
    await (await ask(key)).text();
    await used(id, [300]);
    const refused = await ask(key);
    expect([refused.status, await messageOf(refused)]).toEqual([
      429,
      expect.stringContaining("200 tokens in all"),
    ]);
    expect(refused.headers.get("x-should-retry")).toBe("false");
  });

  it("count cost by list prices, whatever the caller says that it costs", async () => {
    const { key, id } = await make({
      limits: [{ limitType: "cost", limit: 0.001, window: 86_400, technique: "sliding" }],
    });
    gate.transport.behave = () => jsonReply(answer(200, 50));
    const headers = { authorization: `Bearer ${key}`, "cf-aig-custom-cost": '{"total_cost":0}' };
    const first = await gate.send("closed/openai/v1/chat/completions", jsonInit(gpt, headers));
    await first.text();
    await used(id, [0.001]);
    expect((await ask(key)).status).toBe(429);
  });

  it("refuse a model without a price, unless the key says otherwise", async () => {
    const limits = [{ limitType: "cost", limit: 1 }];
    const { key, id } = await make({ limits });
    const strange = { ...chat, model: "a-model-of-no-price" };
    const refused = await ask(key, strange);
    expect([refused.status, await messageOf(refused)]).toEqual([
      400,
      expect.stringContaining("on_unknown"),
    ]);
    await change(id, { on_unknown: "allow" });
    expect((await ask(key, strange)).status).toBe(200);
  });

  it("hold what was set aside while a stream is under way, and give it back when its client leaves", async () => {
    const { key, id } = await make({ limits: [{ limitType: "tokens", limit: 200 }] });
    gate.transport.behave = () => streamReply(["data: {}\n\n"], { ending: "hang" });
    const long = { ...gpt, messages: [{ role: "user", content: "x".repeat(400) }] };
    const streaming = await ask(key, long);
    expect(streaming.status).toBe(200);
    expect((await ask(key)).status).toBe(429);
    expect((await show(id)).usage[0]?.used).toBe(200);
    await streaming.body?.cancel();
    const input = Math.floor(JSON.stringify(long).length / 4);
    const counted = async (): Promise<number> => (await show(id)).usage[0]?.used ?? 0;
    await expect.poll(counted).toBeLessThan(200);
    expect(await counted()).toBeGreaterThanOrEqual(input);
  });

  it("count what has passed of a stream that its client leaves, and nothing twice", async () => {
    const { key, id } = await make({
      limits: [
        { limitType: "cost", limit: 1 },
        { limitType: "tokens", limit: 100_000 },
      ],
    });
    const said = (text: string): string =>
      `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
    const again = `data: {"type":"response.output_text.done","text":"${"word".repeat(100)}"}\n\n`;
    const events = [...Array.from({ length: 100 }, () => said("word")), again];
    gate.transport.behave = () => streamReply(events, { ending: "hang" });
    const streaming = await ask(key, { ...gpt, stream: true });
    const reader = streaming.body!.getReader();
    for (let length = 0; length < events.join("").length;)
      length += (await reader.read()).value?.length ?? 0;
    await reader.cancel();
    const input = Math.floor(JSON.stringify({ ...gpt, stream: true }).length / 4);
    await expect.poll(async () => (await show(id)).usage[1]?.used).toBe(100 + input);
  });

  it("give back what was set aside for a provider that does not answer", async () => {
    const { key, id } = await make({
      limits: [
        { limitType: "cost", limit: 1 },
        { limitType: "tokens", limit: 100_000 },
      ],
    });
    gate.transport.behave = () => ({ status: 700, headers: [], body: null });
    expect((await ask(key)).status).toBe(502);
    await used(id, [0, 0]);
  });

  it("count an answer from the cache as a request without tokens", async () => {
    const limits = ["requests", "tokens"].map((limitType) => ({ limitType, limit: 1000 }));
    const { key, id } = await make({ limits });
    const send = () =>
      gate.send("closed/openai/v1/chat/completions", {
        ...jsonInit(gpt, { authorization: `Bearer ${key}`, "cf-aig-cache-ttl": "60" }),
      });
    await (await send()).text();
    await used(id, [1, 150]);
    const second = await send();
    expect(second.headers.get("cf-aig-cache-status")).toBe("HIT");
    await second.text();
    await used(id, [2, 150]);
  });

  it("are told by the metrics, by the key's id", async () => {
    const { key, id } = await make();
    await (await ask(key)).text();
    await expect
      .poll(async () => (await gate.manageRaw("/metrics")).text())
      .toContain(`causey_gateway_key_requests_total{gateway="closed",key="${id}"} 1`);
    const text = await (await gate.manageRaw("/metrics")).text();
    expect(text).toContain(`key="${id}",type="input"} 100`);
    expect(text).not.toContain(key);
  });
});
