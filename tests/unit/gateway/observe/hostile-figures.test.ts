import { openPlatform } from "#platform";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import { cost, leastCost } from "../../../../core/gateway/metering/cost/cost.ts";
import { gatewayMetrics } from "../../../../core/gateway/observe/metrics/metrics.ts";
import type { WebSockets } from "../../../../core/net/duplex.ts";
import { addUsage } from "../../../../core/gateway/providers/usage.ts";
import { noUsage } from "../../../../core/gateway/chat/usage.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { parseExposition } from "../../../fakes/gateway-exposition.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { priceOf } from "../../../fakes/gateway-prices.ts";

let gate: GatewayUnderTest;
let gateway = "";
let serial = 0;

async function make(more: object = {}): Promise<void> {
  gateway = `hostile-${serial++}`;
  await gate.create(gateway, { collect_logs: false, ...more });
}

beforeAll(async () => {
  gate = await gatewayUnderTest({ metrics: true });
});
afterAll(() => gate.close());
beforeEach(async () => {
  gate.transport.behave = () => jsonReply({ usage: { prompt_tokens: 1, completion_tokens: 1 } });
  await make();
});

const ask = async (body: unknown = chat, headers: Record<string, string> = {}): Promise<number> => {
  const answer = await gate.send(`${gateway}/openai/chat/completions`, jsonInit(body, headers));
  await answer.text();
  return answer.status;
};

/** The samples of this test's gateway. */
async function scrape(): Promise<ReadonlyMap<string, number>> {
  const text = await (await gate.manageRaw("/metrics")).text();
  const samples = [...parseExposition(text).values()].flatMap((family) => [...family.samples]);
  return new Map(samples.filter(([name]) => name.includes(`gateway="${gateway}"`)));
}

function sumOf(samples: ReadonlyMap<string, number>, name: string): number {
  const found = [...samples].filter(([key]) => key.startsWith(name));
  return found.reduce((sum, [, value]) => sum + value, 0);
}

/** Scrapes until so many tries were counted. */
async function scrapeTries(count: number): Promise<ReadonlyMap<string, number>> {
  let found: ReadonlyMap<string, number> = new Map();
  await eventually(async () => {
    found = await scrape();
    return sumOf(found, "causey_gateway_requests_total") >= count;
  }, `${count} tries are counted`);
  return found;
}

describe("metrics under attack", () => {
  it("stay one label per model, whatever stands in its place", async () => {
    const names = [
      'a"} 1\ncausey_evil_total{x="',
      "a\r\n# EOF\n",
      "a\\",
      'a"b',
      "a\\nb",
      "\u2028# TYPE x counter",
      "{}",
      "\u0000",
      "__proto__",
      "x".repeat(100_000),
    ];
    for (const model of names) expect(await ask({ ...chat, model })).toBe(200);
    const found = await scrapeTries(names.length);
    const requests = [...found.keys()].filter((name) => name.startsWith("causey_gateway_requests"));
    const models = requests.map((name) => /model="(.*)",provider=/.exec(name)?.[1]);
    expect(models).toHaveLength(6);
    expect(new Set(models)).toEqual(new Set(["a\\", "a\\nb", 'a"b', "__proto__", "other", "{}"]));
    expect(sumOf(found, "causey_gateway_requests_total")).toBe(names.length);
  });

  it("never go down, and miss none of 1000 requests, while they are read", async () => {
    const until = new AbortController();
    const last = new Map<string, number>();
    const reading = (async () => {
      while (!until.signal.aborted) {
        const found = await scrape();
        for (const [name, before] of last) expect(found.get(name)).toBeGreaterThanOrEqual(before);
        for (const [name, value] of found) last.set(name, value);
        await gate.platform.system.sleep(5);
      }
    })();
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 50 }, (_, at) => ask({ ...chat, model: `m-${at}` })));
    until.abort();
    await reading;
    const found = await scrapeTries(1000);
    expect(sumOf(found, "causey_gateway_requests_total")).toBe(1000);
    expect(sumOf(found, "causey_gateway_request_duration_seconds_count")).toBe(1000);
    expect(sumOf(found, "causey_gateway_tokens_total")).toBe(2000);
  });

  it("stay finite, whatever a caller says that it cost and a provider that it used", async () => {
    const custom = (price: string): Promise<number> => ask(chat, { "cf-aig-custom-cost": price });
    for (const total of ["1e308", "1000000.01", "-1"])
      expect(await custom(`{"total_cost":${total}}`)).toBe(400);
    expect(await custom('{"per_token_in":1e308,"per_token_out":0}')).toBe(400);
    for (const total of ["1e6", "1000000", "999999", "0"])
      expect(await custom(`{"total_cost":${total}}`)).toBe(200);
    for (const count of [-1, 1e300, 1.5, "9", null, 500_000_000]) {
      gate.transport.behave = () =>
        jsonReply({ usage: { prompt_tokens: count, completion_tokens: count } });
      expect(await custom('{"per_token_in":1e6,"per_token_out":1e6}')).toBe(200);
    }
    const found = await scrapeTries(10);
    expect(sumOf(found, "causey_gateway_cost_usd_total")).toBe(4 * 200_000);
    expect(sumOf(found, "causey_gateway_tokens_total")).toBe(4 * 2 + 1_000_000_000);
  });

  it("outlive a gateway that goes while it is asked", async () => {
    const asked = Array.from({ length: 30 }, () => ask());
    const gone = gate.manage(`/gateways/${gateway}`, { method: "DELETE" });
    const statuses = new Set(await Promise.all(asked));
    expect((await gone).status).toBe(200);
    for (const status of statuses) expect([200, 400]).toContain(status);
    await make();
    expect(await ask()).toBe(200);
    expect(sumOf(await scrapeTries(1), "causey_gateway_requests_total")).toBe(1);
  });

  it("keep accounts apart whose names look like another's gateway", async () => {
    const platform = await openPlatform();
    const { drop, read } = gatewayMetrics(platform);
    drop("a/b/g", 2);
    expect([...(await read("a")).keys()]).toEqual([]);
    expect([...(await read("a/b")).keys()]).toEqual(["dropped\tg"]);
    await platform.close();
  });

  it("hold no more accounts than they can, and go on", async () => {
    const platform = await openPlatform();
    const calls: string[] = [];
    const actors: typeof platform.actors = {
      define: (kind) => platform.actors.define(kind),
      get: (kind, name) => ({
        ...platform.actors.get(kind, name),
        call: () => Promise.resolve(void calls.push(name)),
      }),
    };
    const { refuse, read } = gatewayMetrics({ ...platform, actors });
    for (let at = 0; at < 12_000; at++) refuse({ account: `a${at}`, gateway: "g" }, "unauthorized");
    await read("a1").catch(() => undefined);
    while (calls.length < 10_000) await platform.system.sleep(50);
    await platform.close();
    expect(calls.length).toBeLessThanOrEqual(10_002);
  });
});

describe("spend limits under attack", () => {
  const rules = [{ limit: 0.000_1, limitType: "cost", window: 3600 }];
  const audio = { prompt_tokens: 1000, completion_tokens: 1000 };

  it("count what tokens without a price cost at least", async () => {
    await make({ spend_limits: { rules } });
    gate.transport.behave = () =>
      jsonReply({ usage: { ...audio, completion_tokens_details: { audio_tokens: 1 } } });
    const body = { ...chat, model: "gpt-4o" };
    expect([await ask(body), await ask(body)]).toEqual([200, 429]);
  });

  it("count what is known of a session that has a part without a price", () => {
    const used = { ...addUsage(noUsage, { usage: audio }), unpriced: true } as const;
    expect(cost(used, priceOf("gpt-realtime", "openai"))).toBeNull();
    const { unpriced: _, ...known } = used;
    expect(leastCost(used, priceOf("gpt-realtime", "openai"))).toBe(
      cost(known, priceOf("gpt-realtime", "openai")),
    );
    expect(leastCost(used, priceOf("no-such-model", "openai"))).toBeNull();
  });

  it("of a model hold for its realtime sessions too", async () => {
    const dialled: string[] = [];
    const webSockets: WebSockets = {
      accept: () => {
        throw new Error("Nothing to accept");
      },
      dial({ url }) {
        dialled.push(url);
        return Promise.resolve({ refusal: { status: 403, headers: [], body: null } });
      },
    };
    const model = { mode: "filter", values: ["gpt-realtime"] };
    const limits = { rules: [{ limit: 1, limitType: "cost", window: 3600, model }] };
    const other = await gatewayUnderTest({}, { webSockets });
    await other.create("talk", { collect_logs: false, spend_limits: limits });
    other.transport.behave = () => jsonReply({});
    const spending = jsonInit(
      { ...chat, model: "gpt-realtime" },
      { "cf-aig-custom-cost": '{"total_cost":1}' },
    );
    expect((await other.send("talk/openai/chat/completions", spending)).status).toBe(200);
    const connect = async (query: string): Promise<number> => {
      const init = { method: "GET", headers: { upgrade: "websocket" } };
      return (await other.send(`talk/openai?${query}`, init)).status;
    };
    expect(await connect("model=gpt-realtime")).toBe(429);
    expect(await connect("x=1&model=gpt%2Drealtime")).toBe(429);
    expect(await connect("model=gpt-realtime-mini")).toBe(403);
    expect(dialled).toHaveLength(1);
    await other.close();
  });

  it("take no figures below nothing, and none that are not finite", () => {
    const odd = [-1, -0, 1e9, 1e300, Number.MAX_SAFE_INTEGER, 0.5, "5", true, [], {}, null];
    for (const a of odd)
      for (const b of odd) {
        const used = addUsage(noUsage, {
          usage: {
            prompt_tokens: a,
            completion_tokens: b,
            total_tokens: b,
            cache_read_input_tokens: b,
            cache_creation_input_tokens: a,
            cache_creation: { ephemeral_1h_input_tokens: b },
            prompt_tokens_details: { cached_tokens: b, audio_tokens: a, image_tokens: b },
            completion_tokens_details: { reasoning_tokens: a, audio_tokens: b },
          },
        });
        for (const [model, provider] of [
          ["gpt-realtime", "openai"],
          ["gpt-4o-audio-preview", "openai"],
          ["gemini-2.5-flash", "google-ai-studio"],
          ["claude-sonnet-4-5", "anthropic"],
        ] as const)
          for (const of of [cost, leastCost]) {
            const amount = of(used, priceOf(model, provider));
            if (amount !== null) expect(Number.isFinite(amount) && amount >= 0).toBe(true);
          }
      }
    const most = { ...noUsage, tokensIn: 500_000_000, tokensOut: 0 };
    expect(cost(most, null, { perTokenIn: 1e308, perTokenOut: 0 })).toBe(Number.MAX_VALUE);
  });
});
