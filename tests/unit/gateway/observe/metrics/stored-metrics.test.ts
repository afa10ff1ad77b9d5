import { openPlatform } from "#platform";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gatewayMetrics } from "../../../../../core/gateway/observe/metrics/metrics.ts";
import { gatewayParts } from "../../../../../core/gateway/mod.ts";
import type { Platform } from "../../../../../core/ports.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../../fakes/gateway-app.ts";
import { parseExposition } from "../../../../fakes/gateway-exposition.ts";
import {
  type FakeTransport,
  fakeTransport,
  jsonReply,
} from "../../../../fakes/gateway-transport.ts";

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

describe("gatewayMetrics()", () => {
  const row = {
    provider: "openai",
    model: "m",
    statusCode: 200,
    success: true,
    cached: false,
    duration: 12,
    tokensIn: 3,
    tokensOut: 4,
    cost: 0.5,
  };
  const name = { account: "acme", gateway: "g" };
  const totals = { count: 1, tokensIn: 3, tokensOut: 4, cost: 0.5, duration: 12 };

  async function withPlatform(use: (platform: Platform) => Promise<void>): Promise<void> {
    const platform = await openPlatform();
    try {
      await use(platform);
    } finally {
      await platform.close();
    }
  }

  it("keeps what it counted over a restart, also what nobody asked for", async () => {
    const data = `metrics-${Math.random()}`;
    const first = await openPlatform({ data });
    gatewayMetrics(first).count(name, row);
    // An isolate has no end that it sees coming: there it comes when what was counted is stored.
    const { read } = gatewayMetrics(first);
    if (first.runtime === "workers")
      while ((await read("acme")).size === 0) await first.system.sleep(50);
    await first.close();
    const second = await openPlatform({ data });
    const metrics = gatewayMetrics(second);
    metrics.count(name, row);
    const series = [...(await metrics.read("acme")).values()];
    expect(series).toMatchObject([{ count: 2, tokensIn: 6, tokensOut: 8, cost: 1, duration: 24 }]);
    await second.close();
  });

  it("adds up what several engines count", () =>
    withPlatform(async (platform) => {
      const engines = [gatewayMetrics(platform), gatewayMetrics(platform)] as const;
      for (const { count, read } of engines) {
        count(name, row);
        await read("acme");
      }
      const all = (await Promise.all(engines.map(({ read }) => read("acme")))).map((table) => [
        ...table.values(),
      ]);
      expect(all).toMatchObject([[{ count: 2 }], [{ count: 2 }]]);
    }));

  /** The platform's actors, whose calls fail where `after` throws, after they had their effect. */
  function failing(
    { actors }: Platform,
    after: (method: string, args: readonly unknown[]) => void,
  ): Platform["actors"] {
    return {
      define: (kind) => actors.define(kind),
      get(kind, id) {
        const ref = actors.get(kind, id);
        return {
          fetch: (request) => ref.fetch(request),
          async call(method, ...args) {
            const result = await ref.call(method, ...args);
            after(method, args);
            return result;
          },
        };
      },
    };
  }

  it("counts a batch once whose confirmation was lost", () =>
    withPlatform(async (platform) => {
      let losses = 2;
      const actors = failing(platform, (method) => {
        if (method === "add" && losses-- > 0) throw new Error("The connection was lost");
      });
      const metrics = gatewayMetrics({ ...platform, actors });
      metrics.count(name, row);
      await metrics.read("acme");
      expect(losses).toBe(-1);
      metrics.count(name, { ...row, model: "n" });
      expect([...(await metrics.read("acme")).values()]).toMatchObject([totals, totals]);
    }));

  it("bounds the series of an account and loses no count", () =>
    withPlatform(async (platform) => {
      const sizes: number[] = [];
      const actors = failing(platform, (method, [, , deltas]) => {
        if (method === "add") sizes.push((deltas as readonly unknown[]).length);
      });
      // Batches are stored when they are read: the one of each second may be a second send of a batch.
      const system: typeof platform.system = {
        ...platform.system,
        sleep: (_, signal) =>
          new Promise((resolve) => signal?.addEventListener("abort", () => resolve())),
      };
      const metrics = gatewayMetrics({ ...platform, system, actors });
      for (let round = 0; round < 2; round++) {
        for (let at = 0; at < 1500; at++)
          metrics.count(name, { ...row, model: `model-${round}-${at}` });
        await metrics.read("acme");
      }
      const table = await metrics.read("acme");
      expect(table.size).toBe(1001);
      expect(sizes).toEqual([1001, 1001]);
      expect([...table.values()].reduce((sum, one) => sum + one.count, 0)).toBe(3000);
    }));

  it("counts log rows that were lost", () =>
    withPlatform(async (platform) => {
      const actors = failing(platform, (method) => {
        if (method === "append") throw new Error("The disk is full");
      });
      // The queue tries again for many seconds before it gives a row up.
      const system: typeof platform.system = {
        ...platform.system,
        sleep: (ms, signal) => platform.system.sleep(Math.min(ms, 10), signal),
      };
      const { gateway: app, management } = gatewayParts({
        platform: { ...platform, system, actors, transport: fakeTransport() },
        metrics: true,
        auth: "off",
        gateways: { open: { authentication: false } },
      });
      const url = "http://gateway.test/v1/acme/open/openai/x";
      await (await app.fetch(new Request(url, { method: "POST", ...jsonInit(chat) }))).text();
      const lost = 'causey_gateway_log_rows_dropped_total{gateway="open"}';
      const metrics = "http://gateway.test/accounts/acme/ai-gateway/metrics";
      const read = async (): Promise<Values> =>
        valuesOf(await (await management.fetch(new Request(metrics))).text());
      while ((await read()).get(lost) !== 1) await platform.system.sleep(50);
    }));
});
