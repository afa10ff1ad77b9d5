import { evict } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

/** Longer than a count takes to be stored, also on a machine with much else to do. */
const STORED_MS = 1500;

const settings = {
  authentication: false,
  cache_invalidate_on_update: false,
  cache_ttl: 0,
  collect_logs: false,
  rate_limiting_interval: 3600,
  rate_limiting_limit: 2,
  rate_limiting_technique: "sliding",
};
const create = (id: string) =>
  gate.manage("/gateways", { method: "POST", ...jsonInit({ id, ...settings }) });
const ask = async (id: string): Promise<number> =>
  (await gate.send(`${id}/openai/x`, jsonInit(chat))).status;

describe("a gateway's rate limit", () => {
  it("counts what an instance counted that has left memory since", async () => {
    await create("rare");
    expect([await ask("rare"), await ask("rare")]).toEqual([200, 200]);
    await new Promise((resolve) => setTimeout(resolve, STORED_MS));
    await evict();
    expect(await ask("rare")).toBe(429);
  });

  it("has counted nothing yet of a gateway made under the id of a deleted one", async () => {
    await create("again");
    expect([await ask("again"), await ask("again"), await ask("again")]).toEqual([200, 200, 429]);
    await gate.manage("/gateways/again", { method: "DELETE" });
    await create("again");
    expect([await ask("again"), await ask("again"), await ask("again")]).toEqual([200, 200, 429]);
    await new Promise((resolve) => setTimeout(resolve, STORED_MS));
    await evict();
    expect(await ask("again")).toBe(429);
  });

  it("names the event id under both prefixes when it refuses, as other errors do", async () => {
    await create("named");
    await ask("named");
    await ask("named");
    const headers = { "cf-aig-event-id": "mine" };
    const refused = await gate.send("named/openai/x", jsonInit(chat, headers));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("cf-aig-event-id")).toBe("mine");
    expect(refused.headers.get("gw-aig-event-id")).toBe("mine");
  });
});
