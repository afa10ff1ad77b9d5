import { describe, expect, it } from "vitest";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import { gatewayActor } from "../../../../core/gateway/account/gateways/gateway-actor.ts";
import {
  type GatewaySettings,
  initialSettings,
} from "../../../../core/gateway/account/settings/settings.ts";
import type { Actor, ActorContext } from "../../../../core/ports.ts";
import { noActors } from "../../../fakes/agents-crowd.ts";
import { chat, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

/** An instance whose commits wait to be let through. */
async function slowActor(settings: GatewaySettings) {
  const waiting: (() => void)[] = [];
  const context: ActorContext = {
    name: "acme/own",
    steady: () => 1000,
    actors: noActors,
    sockets: { accept: () => new Response(), broadcast: () => undefined, connections: () => [] },
    sql: {
      dialect: "sqlite",
      all: (sql) =>
        Promise.resolve(
          sql.includes("gateway_settings") ? [{ settings: JSON.stringify(settings) }] : [],
        ),
      batch: () => new Promise((resolve) => waiting.push(() => resolve([]))),
      close: () => Promise.resolve(),
    },
    alarm: () => Promise.resolve([]),
    system: {
      now: () => 1000,
      monotonic: () => 1000,
      id: () => "id",
      random: (length) => new Uint8Array(length),
      sleep: () => Promise.resolve(),
      waitUntil: () => undefined,
    },
  };
  const actor: Actor = await gatewayActor.start(context);
  const call = async (method: string, ...args: unknown[]): Promise<unknown> => {
    const run: unknown = actor.methods[method];
    if (typeof run !== "function") throw new Error(`no method ${method}`);
    return run(...args) as unknown;
  };
  /** Lets commits through, in their order, until all of the work is done. */
  const settle = async (work: readonly Promise<unknown>[]): Promise<unknown[]> => {
    const left = new Set(work);
    for (const one of work) void one.finally(() => left.delete(one)).catch(() => undefined);
    while (left.size > 0) {
      waiting.shift()?.();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return Promise.all(work);
  };
  return { call, settle };
}

describe("changes of a gateway's settings that meet", () => {
  it("are all kept: a PUT, a declaration that a request brings, and a mark of new prices", async () => {
    const { call, settle } = await slowActor(initialSettings("own", 1000, false));
    await settle([
      call("update", { cache_ttl: 60 }),
      call("enter", true, null, { rate_limiting_limit: 7, rate_limiting_interval: 60 }),
      call("markPrices", "prices-1"),
      call("update", { retry_max_attempts: 3 }),
    ]);
    expect(await call("settings")).toMatchObject({
      cache_ttl: 60,
      rate_limiting_limit: 7,
      prices_version: "prices-1",
      retry_max_attempts: 3,
    });
  });

  it("do not bring a deleted gateway back", async () => {
    const { call, settle } = await slowActor(initialSettings("own", 1000, false));
    await settle([call("remove"), call("enter", true, null, { cache_ttl: 60 })]);
    expect(await call("settings")).toBeNull();
  });

  it("of prices end in order: an earlier change does not hide that a later one is under way", async () => {
    const { call, settle } = await slowActor(initialSettings("own", 1000, false));
    await settle([call("markPrices", "~a"), call("markPrices", "~b")]);
    await settle([call("markPrices", "a", "~a")]);
    expect(await call("settings")).toMatchObject({ prices_version: "~b" });
    await settle([call("markPrices", "b", "~b")]);
    expect(await call("settings")).toMatchObject({ prices_version: "b" });
  });
});

describe("a process that dies between storing a price and telling the gateways", () => {
  it("leaves none on the old price, neither in other processes nor where it was the first price", async () => {
    const gate = await gatewayUnderTest({ accountId: "acme" });
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 };
    gate.transport.behave = () => jsonReply({ choices: [], usage });
    const costOf = async (): Promise<unknown> => {
      const event = crypto.randomUUID();
      const init = jsonInit({ ...chat, model: "gpt-4o" }, { "cf-aig-event-id": event });
      await (await gate.send("open/openai/chat/completions", init)).text();
      const [row] = await gate.rowsOf("open", event, 1);
      return row?.["cost"];
    };
    const { actors } = gate.platform;
    const price = async (input: number): Promise<void> => {
      let isDead = false;
      const dying: typeof actors = {
        define: actors.define.bind(actors),
        get: (kind, name) => ({
          fetch: (request) => actors.get(kind, name).fetch(request),
          async call(method, ...args) {
            if (isDead) throw new Error("killed");
            const answer = await actors.get(kind, name).call(method, ...args);
            // The price is stored: nothing of this process happens from here on.
            isDead = kind !== "gateway" && method === "write";
            return answer;
          },
        }),
      };
      const { management } = gatewayParts({
        platform: { ...gate.platform, actors: dying },
        auth: "off",
        accountId: "acme",
      });
      const row = { provider: "openai", model: "gpt-4o", input, output: 1 };
      const url = "http://gateway.test/accounts/acme/ai-gateway/prices";
      await management.fetch(new Request(url, { method: "PUT", ...jsonInit(row) }));
      expect(isDead).toBe(true);
    };
    try {
      expect(await costOf()).toBe(2.5);
      await price(9);
      expect(await costOf()).toBe(9);
      await price(4);
      expect([await costOf(), await costOf()]).toEqual([4, 4]);
    } finally {
      await gate.close();
    }
  });
});
