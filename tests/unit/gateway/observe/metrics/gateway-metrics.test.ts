import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../../cases/eventually.ts";
import { gatewayParts } from "../../../../../core/gateway/mod.ts";
import { TransportError } from "../../../../../core/net/transport-error.ts";
import {
  API_TOKEN,
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../../fakes/gateway-app.ts";
import { nameOf, parseExposition } from "../../../../fakes/gateway-exposition.ts";
import { type FakeTransport, jsonReply, streamReply } from "../../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
/** A gateway of each test's own, which keeps no log. */
let gateway = "";
let serial = 0;

const usage = { prompt_tokens: 10, completion_tokens: 4 };
const answers: FakeTransport["behave"] = () => jsonReply({ usage });

async function make(more: object = {}): Promise<void> {
  gateway = `metrics-${serial++}`;
  await gate.create(gateway, { collect_logs: false, ...more });
}

beforeAll(async () => {
  gate = await gatewayUnderTest({ metrics: true });
});
afterAll(() => gate.close());
beforeEach(async () => {
  gate.transport.behave = answers;
  await make();
});

type Values = ReadonlyMap<string, number>;

function valuesOf(text: string): Values {
  return new Map([...parseExposition(text).values()].flatMap(({ samples }) => [...samples]));
}

async function scrape(): Promise<Values> {
  const response = await gate.manageRaw("/metrics");
  expect(response.status).toBe(200);
  return valuesOf(await response.text());
}

/** The samples of this test's gateway, without its label. */
function own(values: Values, id = gateway): Record<string, number> {
  const label = `gateway="${id}"`;
  const found = [...values].filter(([name]) => name.includes(label));
  return Object.fromEntries(
    found.map(([name, value]) => [
      name.replace(label, "").replaceAll(/,(?=[,}])|(?<=\{),/g, ""),
      value,
    ]),
  );
}

const triesOf = (of: Record<string, number>, labels: Record<string, string>): number | undefined =>
  of[nameOf("causey_gateway_requests_total", labels)];

/** Scrapes until the requests of the gateway are `tries`. */
async function scrapeTries(tries: number): Promise<Record<string, number>> {
  let found: Record<string, number> = {};
  await eventually(async () => {
    found = own(await scrape());
    const requests = Object.entries(found).filter(([name]) => name.includes("_requests_total"));
    return requests.reduce((sum, [, value]) => sum + value, 0) >= tries;
  }, `${tries} tries are counted`);
  return found;
}

const ok = {
  cached: "false",
  model: "gpt-test",
  provider: "openai",
  status: "200",
  success: "true",
};
const price = { "cf-aig-custom-cost": '{"total_cost":0.25}' };
const ask = (body: unknown = chat, headers: Record<string, string> = {}): Promise<Response> =>
  gate.send(`${gateway}/openai/chat/completions`, jsonInit(body, headers));

describe("a gateway's metrics", () => {
  it("count every try exactly under concurrency, where no log is kept", async () => {
    const models = ["a", "b", "c"];
    const asked = Array.from({ length: 60 }, async (_, at) => {
      await (await ask({ ...chat, model: models[at % 3] }, price)).text();
      if (at % 20 === 0) await scrape();
    });
    await Promise.all(asked);
    const found = await scrapeTries(60);
    for (const model of models) {
      const { status: _, success: __, ...labels } = { ...ok, model };
      expect(triesOf(found, { ...ok, model })).toBe(20);
      const name = (suffix: string, more = {}) =>
        found[nameOf(`causey_gateway_${suffix}`, { ...labels, ...more })];
      expect(name("tokens_total", { type: "input" })).toBe(200);
      expect(name("tokens_total", { type: "output" })).toBe(80);
      expect(name("request_duration_seconds_count")).toBe(20);
      const cost = found[nameOf("causey_gateway_cost_usd_total", { model, provider: "openai" })];
      expect(cost).toBeCloseTo(20 * 0.25, 9);
    }
    expect((await gate.manage(`/gateways/${gateway}/logs`)).body.result).toEqual([]);
  });

  it("tell answers from the cache apart", async () => {
    const cached = { "cf-aig-cache-ttl": "60" };
    for (let i = 0; i < 3; i++) await (await ask(chat, { ...cached, ...price })).text();
    const found = await scrapeTries(3);
    expect(triesOf(found, ok)).toBe(1);
    expect(triesOf(found, { ...ok, cached: "true" })).toBe(2);
    const labels = { model: "gpt-test", provider: "openai" };
    expect(found[nameOf("causey_gateway_cost_usd_total", labels)]).toBe(0.25);
  });

  it("count each attempt and what failed", async () => {
    await (await ask()).text();
    let attempts = 0;
    gate.transport.behave = () => {
      if (attempts++ % 2 === 0) throw new TransportError("unreachable", "nobody there");
      return jsonReply({}, 429);
    };
    const retries = { "cf-aig-max-attempts": "2", "cf-aig-retry-delay": "1" };
    for (let i = 0; i < 2; i++) await (await ask(chat, retries)).text();
    const found = await scrapeTries(5);
    expect(triesOf(found, ok)).toBe(1);
    expect(triesOf(found, { ...ok, status: "none", success: "false" })).toBe(2);
    expect(triesOf(found, { ...ok, status: "429", success: "false" })).toBe(2);
  });

  it("count streams that broke off or were left as no success, with the tokens seen", async () => {
    await (await ask()).text();
    const event = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;
    gate.transport.behave = () => streamReply([event], { ending: "break" });
    await (await ask()).text().catch(() => undefined);
    gate.transport.behave = () => streamReply([event], { ending: "hang" });
    const left = await ask();
    const reader = (left.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    const found = await scrapeTries(3);
    expect(triesOf(found, { ...ok, success: "false" })).toBe(2);
    const { status: _, success: __, ...labels } = { ...ok, type: "input" };
    expect(found[nameOf("causey_gateway_tokens_total", labels)]).toBe(30);
  });

  it("count who was sent away, by reason", async () => {
    await make({ rate_limiting_interval: 3600, rate_limiting_limit: 1 });
    for (let i = 0; i < 3; i++) await (await ask()).text();
    const limited = nameOf("causey_gateway_refused_total", { reason: "rate_limited" });
    expect(own(await scrape())[limited]).toBe(2);
    const rules = [{ limit: 0.25, limitType: "cost", window: 3600 }];
    await make({ spend_limits: { rules } });
    const priced = { ...chat, model: "gpt-4o" };
    for (let i = 0; i < 3; i++) await (await ask(priced, price)).text();
    const spent = nameOf("causey_gateway_refused_total", { reason: "spend_limit" });
    expect(own(await scrape())[spent]).toBe(2);
    for (const token of [null, "wrong", GATEWAY_TOKEN])
      await (
        await gate.send("closed/openai/chat/completions", { ...jsonInit(chat), token })
      ).text();
    const strangers = nameOf("causey_gateway_refused_total", { reason: "unauthorized" });
    expect(own(await scrape(), "closed")[strangers]).toBe(2);
  });

  it("keep nothing of gateways that are none", async () => {
    const before = (await scrape()).get("causey_gateway_metric_series");
    for (const id of ["nowhere", "not a gateway", "default"])
      await (await gate.send(`${encodeURIComponent(id)}/openai/x`, jsonInit(chat))).text();
    expect((await scrape()).get("causey_gateway_metric_series")).toBe(before);
  });

  it("show no model that no provider has answered for, and no credential in its place", async () => {
    const secret = `sk-proj-${"0123456789".repeat(3)}`;
    await (await ask({ ...chat, model: secret })).text();
    gate.transport.behave = () => jsonReply({}, 404);
    await (await ask({ ...chat, model: "no-such-model" })).text();
    const found = await scrapeTries(2);
    expect(triesOf(found, { ...ok, model: "other" })).toBe(1);
    expect(triesOf(found, { ...ok, model: "other", status: "404", success: "false" })).toBe(1);
    expect(JSON.stringify(found)).not.toMatch(/sk-proj|no-such-model/);
  });

  it("go with their gateway", async () => {
    await (await ask()).text();
    await scrapeTries(1);
    await (await ask()).text();
    await gate.manage(`/gateways/${gateway}`, { method: "DELETE" });
    expect(own(await scrape())).toEqual({});
  });

  it("are OpenMetrics for who prefers it", async () => {
    await (await ask()).text();
    const accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    const response = await gate.manageRaw("/metrics", { headers: { accept } });
    expect(response.headers.get("content-type")).toContain("application/openmetrics-text");
    expect(parseExposition(await response.text(), true).has("causey_gateway_requests")).toBe(true);
  });
});

describe("who may read an account's metrics", () => {
  const read = (headers: Record<string, string>, account = "acme"): Promise<Response> => {
    const { management } = gatewayParts({ platform: gate.platform, metrics: true, auth });
    return Promise.resolve(
      management.fetch(
        new Request(`http://gateway.test/accounts/${account}/ai-gateway/metrics`, { headers }),
      ),
    );
  };
  const auth = (request: Request) => {
    const permission = { reader: "AI Gateway Read", runner: "AI Gateway Run" } as const;
    const name = request.headers.get("authorization")?.slice(7) as keyof typeof permission;
    return Promise.resolve(
      permission[name] === undefined
        ? null
        : {
            id: "t",
            kind: "token" as const,
            grants: [{ permissions: [permission[name]], accounts: ["acme"] }],
          },
    );
  };

  it("is who may read its log", async () => {
    const status = async (token?: string, account?: string): Promise<number> =>
      (await read(token === undefined ? {} : { authorization: `Bearer ${token}` }, account)).status;
    expect(await status()).toBe(401);
    expect(await status(GATEWAY_TOKEN)).toBe(401);
    expect(await status("runner")).toBe(403);
    expect(await status("reader")).toBe(200);
    expect(await status("reader", "globex")).toBe(403);
  });

  it("sees no other account's", async () => {
    const options = { platform: gate.platform, metrics: true, auth: "off" as const };
    const parts = gatewayParts({ ...options, gateways: { open: { authentication: false } } });
    const url = (account: string) => `http://gateway.test/v1/${account}/open/openai/x`;
    for (const [account, model] of [
      ["globex", "theirs"],
      ["initech", "ours"],
    ] as const) {
      const init = { method: "POST", ...jsonInit({ ...chat, model }) };
      await (await parts.gateway.fetch(new Request(url(account), init))).text();
    }
    const of = async (account: string): Promise<string> =>
      (
        await parts.management.fetch(
          new Request(`http://gateway.test/accounts/${account}/ai-gateway/metrics`),
        )
      ).text();
    expect(await of("globex")).toContain('model="theirs"');
    expect(await of("globex")).not.toContain("ours");
    expect(await of("initech")).toContain('model="ours"');
    expect(own(valuesOf(await of("umbrella")), "open")).toEqual({});
  });
});

describe("metrics that are off", () => {
  it("are a 404 that says so, to who may know it", async () => {
    const { management } = gatewayParts({
      platform: gate.platform,
      auth: (request) =>
        Promise.resolve(
          request.headers.has("authorization")
            ? { id: "t", kind: "token", grants: [{ permissions: ["*"], accounts: ["*"] }] }
            : null,
        ),
    });
    const url = "http://gateway.test/accounts/acme/ai-gateway/metrics";
    expect((await management.fetch(new Request(url))).status).toBe(401);
    const headers = { authorization: `Bearer ${API_TOKEN}` };
    const response = await management.fetch(new Request(url, { headers }));
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("metrics are off");
  });
});
