import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { jsonUsage } from "../../../../core/gateway/metering/usage/json-usage.ts";
import { usageScanner } from "../../../../core/gateway/metering/usage/sse-usage.ts";
import { usageOf } from "../../../../core/gateway/providers/usage.ts";
import {
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  openToAll,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { STORED_KEY, virtualKeys } from "../../../fakes/virtual-keys.ts";

const tier = (value: string) => ({ member: "service_tier", value }) as const;
const place = (value: string) => ({ member: "inference_geo", value }) as const;

/** 1,000 tokens in, of which 400 are cached, and 100 out. */
const openai = {
  prompt_tokens: 1000,
  completion_tokens: 100,
  prompt_tokens_details: { cached_tokens: 400 },
};
const anthropic = { input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 100 };
const google = { promptTokenCount: 1000, candidatesTokenCount: 100, cachedContentTokenCount: 400 };

let gate: GatewayUnderTest;
beforeEach(async () => {
  const apiKey = STORED_KEY;
  gate = await gatewayUnderTest({
    providers: { openai: { apiKey }, anthropic: { apiKey }, "google-ai-studio": { apiKey } },
    gateways: { open: openToAll, closed: { tokens: [GATEWAY_TOKEN] } },
  });
});
afterEach(() => gate.close());

/** The cost of a request that is answered so. */
async function costOf(path: string, body: object, answer: object, headers: object = {}) {
  gate.transport.behave = () => jsonReply(answer, 200, Object.entries(headers));
  const got = await gate.send(`open/${path}`, jsonInit(body));
  expect(got.status).toBe(200);
  await got.text();
  return (await gate.logs("open", 1))[0]?.["cost"];
}

describe("the tariff that a provider says it has served", () => {
  const gpt = { model: "gpt-5.5", messages: [{ role: "user", content: "Hi" }] };
  const chat = (body: object, answer: object) =>
    costOf("openai/chat/completions", { ...gpt, ...body }, { usage: openai, ...answer });

  // 600 at 5, 400 cached at 0.5, 100 out at 30 USD per million; priority at 12.5, 1.25 and 75; flex at 2.5, 0.5 and 15.
  it.each([
    [{}, {}, 0.0062],
    [{}, { service_tier: "default" }, 0.0062],
    [{ service_tier: "priority" }, {}, 0.0155],
    [{ service_tier: "priority" }, { service_tier: "priority" }, 0.0155],
    [{ service_tier: "priority" }, { service_tier: "default" }, 0.0062],
    [{ service_tier: "auto" }, { service_tier: "priority" }, 0.0155],
    [{ service_tier: "flex" }, { service_tier: "flex" }, 0.0032],
    [{ service_tier: "flex" }, { service_tier: "default" }, 0.0062],
    [{ service_tier: "flex" }, {}, 0.0062],
    [{ service_tier: "priority" }, { service_tier: "unheard-of" }, 0.0155],
    [{ service_tier: "priority" }, { service_tier: null }, 0.0155],
  ])("at OpenAI, asked with %j and answered with %j, costs %d", async (body, answer, cost) => {
    expect(await chat(body, answer)).toBe(cost);
    expect(
      await costOf(
        "openai/responses",
        { model: "gpt-5.5", input: "Hi", ...body },
        {
          ...answer,
          text: { format: { type: "text" } },
          usage: {
            input_tokens: 1000,
            output_tokens: 100,
            input_tokens_details: { cached_tokens: 400 },
          },
          metadata: {},
        },
      ),
    ).toBe(cost);
  });

  it("is read however much stands between it and the usage", async () => {
    const tools = [{ type: "function", name: "f", description: "d".repeat(10_000) }];
    const usage = { input_tokens: 1000, output_tokens: 100 };
    const answered = (answer: object) =>
      costOf("openai/responses", { model: "gpt-5.5", input: "Hi" }, { ...answer, tools, usage });
    const list = Number(await answered({}));
    expect(await answered({ service_tier: "priority" })).toBe(2.5 * list);
    // A text that names one says nothing.
    expect(await answered({ instructions: '"service_tier": "priority"' })).toBe(list);
  });

  it("at Anthropic is the place, also one that nobody has asked for", async () => {
    const body = { model: "claude-opus-4-6", max_tokens: 9, messages: gpt.messages };
    const message = (given: object, usage: object) =>
      costOf("anthropic/v1/messages", { ...body, ...given }, { usage: { ...anthropic, ...usage } });
    expect(await message({}, { service_tier: "standard" })).toBe(0.0057);
    expect(await message({}, { inference_geo: "us", service_tier: "standard" })).toBe(0.00627);
    expect(await message({ inference_geo: "us" }, { inference_geo: "global" })).toBe(0.0057);
    expect(await message({ inference_geo: "us" }, { inference_geo: "not_available" })).toBe(
      0.00627,
    );
  });

  it("at Google is in the answer, or in a header of it", async () => {
    const path = "google-ai-studio/v1beta/models/gemini-2.5-pro:generateContent";
    const ask = (body: object, usage: object, headers: object = {}) =>
      costOf(path, { contents: [], ...body }, { usageMetadata: { ...google, ...usage } }, headers);
    const list = Number(await ask({}, {}));
    expect(await ask({ service_tier: "priority" }, {})).toBeCloseTo(2 * list, 9);
    expect(
      await ask({ service_tier: "priority" }, {}, { "x-gemini-service-tier": "standard" }),
    ).toBe(list);
    expect(await ask({}, { trafficType: "ON_DEMAND" })).toBe(list);
    // Cached input costs what the list says: 400 at 0.125.
    const half = (list - 0.000_05) / 2 + 0.000_05;
    expect(await ask({}, { trafficType: "ON_DEMAND_FLEX" })).toBeCloseTo(half, 9);
    expect(
      await ask({ service_tier: "flex" }, {}, { "x-gemini-service-tier": "flex" }),
    ).toBeCloseTo(half, 9);
  });

  it("of a stream is read, and corrects what a limit has set aside", async () => {
    const keys = virtualKeys(gate);
    const limits = [{ limit: 1, limitType: "cost", window: 86_400 }];
    const { key, id } = await keys.make({ limits });
    const chunk = { id: "c", service_tier: "flex", choices: [], usage: openai };
    gate.transport.behave = () =>
      streamReply([`data: ${JSON.stringify(chunk)}\n\n`, "data: [DONE]\n\n"]);
    const body = { ...gpt, service_tier: "flex", stream: true, max_tokens: 200 };
    const stream_options = { include_usage: true };
    const answer = await gate.send("closed/openai/chat/completions", {
      ...jsonInit({ ...body, stream_options }),
      token: key,
    });
    await answer.text();
    await gate.logs("closed", 1);
    expect((await keys.show(id)).usage).toMatchObject([{ limitType: "cost", used: 0.0032 }]);
  });

  it("is that of the first event of Anthropic's streams, and of OpenAI's last", () => {
    const scan = (slug: string, ...events: object[]) => {
      const scanner = usageScanner(usageOf(slug));
      for (const event of events) scanner.push(`data: ${JSON.stringify(event)}\n\n`);
      return scanner.usage().served;
    };
    const message = { usage: { ...anthropic, service_tier: "batch", inference_geo: "us" } };
    const end = { type: "message_delta", usage: { output_tokens: 7 } };
    expect(scan("anthropic", { type: "message_start", message }, end)).toEqual([
      place("us"),
      tier("batch"),
    ]);
    const response = { service_tier: "priority", usage: { input_tokens: 1, output_tokens: 2 } };
    expect(scan("openai", { type: "response.completed", response })).toEqual([tier("priority")]);
  });

  it("is read beside the usage of an answer, on either side of it", () => {
    const text = "x".repeat(9000);
    for (const answer of [
      { choices: [text], usage: openai, service_tier: "flex", system_fingerprint: "fp" },
      { choices: [text], service_tier: "flex", store: true, usage: openai },
    ])
      expect(jsonUsage(JSON.stringify(answer), usageOf("openai"))).toMatchObject({
        tokensIn: 1000,
        served: [tier("flex")],
      });
    // Words of a model are no report.
    const said = JSON.stringify({ choices: ['"service_tier":"flex"'], usage: openai });
    expect(jsonUsage(said, usageOf("openai")).served).toBeUndefined();
  });
});
