import { evict } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../fakes/gateway-app.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());

/** Longer than a count takes to be stored, also on a machine with much else to do. */
const STORED_MS = 1500;

describe("a gateway's rate limit", () => {
  it("counts what an instance counted that has left memory since", async () => {
    const settings = {
      id: "rare",
      authentication: false,
      cache_invalidate_on_update: false,
      cache_ttl: 0,
      collect_logs: false,
      rate_limiting_interval: 3600,
      rate_limiting_limit: 2,
      rate_limiting_technique: "sliding",
    };
    await gate.manage("/gateways", { method: "POST", ...jsonInit(settings) });
    const ask = async (): Promise<number> =>
      (await gate.send("rare/openai/x", jsonInit(chat))).status;
    expect([await ask(), await ask()]).toEqual([200, 200]);
    await new Promise((resolve) => setTimeout(resolve, STORED_MS));
    await evict();
    expect(await ask()).toBe(429);
  });
});
