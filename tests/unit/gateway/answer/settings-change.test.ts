import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  initialSettings,
  withChanges,
} from "../../../../core/gateway/account/settings/settings.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";

// No test waits between a change's 2xx and the request that must see it.

let gate: GatewayUnderTest;
let gateway = "";
let serial = 0;

const settings = {
  ...requiredSettings,
  authentication: false,
  cache_invalidate_on_update: true,
  collect_logs: false,
};

beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(async () => {
  gateway = `changed-${serial++}`;
  await gate.create(gateway, settings);
});

const ask = (headers: Record<string, string> = {}) =>
  gate.send(`${gateway}/openai/x`, jsonInit(chat, headers));
const change = async (changes: object): Promise<void> => {
  const init = { method: "PUT", ...jsonInit({ ...settings, ...changes }) };
  expect((await gate.manage(`/gateways/${gateway}`, init)).status).toBe(200);
};
const cacheStatus = async () => (await ask()).headers.get("cf-aig-cache-status");

describe("a change of a gateway's settings counts for the next request", () => {
  it("authentication, on and off", async () => {
    for (let round = 0; round < 5; round++) {
      expect((await ask()).status).toBe(200);
      await change({ authentication: true });
      expect((await ask()).status).toBe(401);
      await change({ authentication: false });
    }
  });

  it("rate limits: a lower one, a higher one, none", async () => {
    const limit = (count: number | null) =>
      change({ rate_limiting_interval: 3600, rate_limiting_limit: count });
    await limit(1);
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
    await limit(3);
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
    await limit(2);
    expect((await ask()).status).toBe(429);
    await limit(null);
    expect((await ask()).status).toBe(200);
  });

  it("the cache: on, forgotten by any change, off", async () => {
    await change({ cache_ttl: 300 });
    for (let round = 0; round < 5; round++) {
      expect([await cacheStatus(), await cacheStatus()]).toEqual(["MISS", "HIT"]);
      await change({ cache_ttl: 301 + round });
    }
    await change({ cache_ttl: 0 });
    expect([await cacheStatus(), await cacheStatus()]).toEqual(["MISS", "MISS"]);
  });

  it("logs and checks", async () => {
    await change({ collect_logs: true });
    expect((await ask()).headers.get("cf-aig-log-id")).not.toBeNull();
    await change({
      dlp: { enabled: true, action: "BLOCK", profiles: ["email"] },
    });
    expect((await ask()).headers.get("cf-aig-log-id")).toBeNull();
    const leak = { ...chat, messages: [{ role: "user", content: "to jane@example.com" }] };
    const blocked = await gate.send(`${gateway}/openai/x`, jsonInit(leak));
    expect(await blocked.json()).toMatchObject({ errors: [{ code: 2029 }] });
  });

  it("its end: the gateway is gone with the answer of the DELETE", async () => {
    await gate.manage(`/gateways/${gateway}`, { method: "DELETE" });
    // As of a gateway that never was: who shows no token is not told that there is none.
    expect((await ask()).status).toBe(401);
  });
});

it("withChanges() tells two changes within one millisecond apart", () => {
  const first = initialSettings("g", 1000, true);
  const second = withChanges(first, { cache_ttl: 60 }, 1000);
  expect(
    new Set([first, second, withChanges(second, {}, 1000)].map((one) => one.modified_at)).size,
  ).toBe(3);
});
