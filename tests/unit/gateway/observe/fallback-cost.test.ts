import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

/** USD per million tokens, so that 100 tokens in and 100 out cost 0.0002 and 0.02 USD. */
const own = ["anthropic", "openrouter"].flatMap((provider) => [
  { provider, model: "small", input: 1, output: 1, source: "a test" },
  { provider, model: "big", input: 100, output: 100, source: "a test" },
]);
const SMALL = 0.0002;
const BIG = 0.02;

let gate: GatewayUnderTest;

beforeEach(async () => {
  const providers = { anthropic: { apiKey: "sk" }, openrouter: { apiKey: "sk" } };
  gate = await gatewayUnderTest({ providers, prices: own });
});
afterEach(() => gate.close());

interface Made {
  readonly id: string;
  readonly key: string;
}
async function made(settings: object = {}): Promise<Made> {
  const limits = [{ limitType: "cost", limit: 1 }];
  const init = { method: "POST", ...jsonInit({ name: "team", limits, ...settings }) };
  return (await gate.manage("/virtual-keys", init)).body.result;
}
async function used(id: string, wanted: number): Promise<void> {
  await expect
    .poll(async () => {
      const { body } = await gate.manage(`/virtual-keys/${id}`);
      return (body.result as { usage: { used: number }[] }).usage[0]?.used;
    })
    .toBe(wanted);
}
const messages = "anthropic/v1/messages";
const small = { ...chat, model: "small", max_tokens: 10 };
const usage = { input_tokens: 100, output_tokens: 100 };
const send = (key: string, path: string, body: object): Promise<Response> =>
  gate.send(`closed/${path}`, { token: key, ...jsonInit(body) });
async function costs(path: string, body: object, wanted: number, settings = {}): Promise<void> {
  const { key, id } = await made(settings);
  const response = await send(key, path, body);
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
  await used(id, wanted);
}

describe("the cost of an answer by a model to fall back on", () => {
  const fallbacks = [{ model: "big" }];

  it("is that of the dearer of the models that were asked and that answered", async () => {
    gate.transport.behave = () => jsonReply({ model: "big", content: [], usage });
    await costs(messages, { ...small, fallbacks }, BIG);
    await costs(messages, { ...small, model: "big", fallbacks: [{ model: "small" }] }, BIG);
    gate.transport.behave = () => jsonReply({ model: "small", content: [], usage });
    await costs(messages, { ...small, fallbacks }, SMALL);
    await costs(messages, small, SMALL);
    // One who is asked alone answers alone.
    gate.transport.behave = () => jsonReply({ model: "big", content: [], usage });
    await costs(messages, small, SMALL);
  });

  it("is read from attempts, from streams, and else is that of the dearest model", async () => {
    const iterations = [{ model: "small" }, { type: "fallback_message", model: "big" }];
    gate.transport.behave = () => jsonReply({ model: "small", usage: { ...usage, iterations } });
    await costs(messages, { ...small, fallbacks }, BIG);
    gate.transport.behave = () => jsonReply({ content: [{ input: { model: "small" } }], usage });
    await costs(messages, { ...small, fallbacks }, BIG);
    const start = { type: "message_start", message: { model: "small", usage } };
    const end = { type: "message_delta", usage: { ...usage, iterations } };
    const events = [start, end].map((event) => `data: ${JSON.stringify(event)}\n\n`);
    gate.transport.behave = () => streamReply(events);
    await costs(messages, { ...small, stream: true, fallbacks }, BIG);
    gate.transport.behave = () => streamReply(events.slice(0, 1));
    await costs(messages, { ...small, stream: true, fallbacks }, SMALL);
  });

  it("is that of OpenRouter's own choice, and of its models", async () => {
    const told = { prompt_tokens: 100, completion_tokens: 100 };
    gate.transport.behave = () => jsonReply({ model: "big", choices: [], usage: told });
    const path = "openrouter/v1/chat/completions";
    await costs(path, { ...small, models: ["big"] }, BIG);
    await costs(path, small, BIG);
    await costs(path, { ...small, model: "openrouter/auto" }, BIG, { on_unknown: "allow" });
    expect((await gate.logs("closed", 3))[0]).toMatchObject({ cost: BIG });
  });

  it("refuses where no price is known of one of them, and counts against a gateway's limit", async () => {
    gate.transport.behave = () => jsonReply({ model: "big", content: [], usage });
    const { key } = await made();
    for (const unknown of [
      [{ model: "strange" }],
      "default",
      [{ model: "big" }, { model: "strange" }],
    ]) {
      const response = await send(key, messages, { ...small, fallbacks: unknown });
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringMatching(/no price is known of the model \\"(?:strange|default)\\"/),
      ]);
    }
    const doubled = '{"model":"small","fallbacks":[{"model":"big"}],"fallbacks":[]}';
    const raw = { token: key, body: doubled, headers: { "content-type": "application/json" } };
    expect((await gate.send(`closed/${messages}`, raw)).status).toBe(400);
    expect(gate.transport.requests).toEqual([]);
    const limit = { limit: 0.01, limitType: "cost", window: 3600 };
    await gate.create("limited", { spend_limits: { rules: [limit] } });
    const ask = async (): Promise<number> => {
      const response = await gate.send(`limited/${messages}`, jsonInit({ ...small, fallbacks }));
      await response.text();
      return response.status;
    };
    expect(await ask()).toBe(200);
    expect((await gate.logs("limited", 1))[0]).toMatchObject({ cost: BIG });
    await expect.poll(ask).toBe(429);
  });

  it("counts against a rule for that model, and is refused by it", async () => {
    gate.transport.behave = () => jsonReply({ model: "big", content: [], usage });
    const model = { mode: "filter", values: ["big"] };
    const rule = { limit: 0.01, limitType: "cost", window: 3600, model };
    await gate.create("ruled", { spend_limits: { rules: [rule] } });
    const ask = async (body: string): Promise<number> => {
      const headers = { "content-type": "application/json" };
      const response = await gate.send(`ruled/${messages}`, { body, headers });
      await response.text();
      return response.status;
    };
    const withFallback = JSON.stringify({ ...small, fallbacks });
    expect(await ask(withFallback)).toBe(200);
    await expect.poll(() => ask(withFallback)).toBe(429);
    // Which models it names cannot be told: the rule might be for one of them.
    const doubled = '{"model":"small","fallbacks":[{"model":"big"}],"fallbacks":[]}';
    expect(await ask(doubled)).toBe(400);
    expect(await ask(JSON.stringify(small))).toBe(200);
  });
});
