import { platformApi } from "causey";
import { expect, it } from "vitest";
import { fakeTransport } from "../../fakes/gateway-transport.ts";
import { chat, jsonInit, openToAll, requiredSettings } from "../../fakes/gateway-app.ts";
import { openMemory } from "../../platform/memory.ts";

/** Longer pauses than this are seen by whoever waits for the end of a server. */
const SEEN_MS = 100;

it("a shutdown waits for no pause before what is stored behind requests", async () => {
  const platform = await openMemory();
  const { sleep } = platform.system;
  const uncut: number[] = [];
  Object.assign(platform.system, {
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms >= SEEN_MS && signal === undefined) uncut.push(ms);
      return sleep(ms, signal);
    },
  });
  const api = platformApi({
    platform: { ...platform, transport: fakeTransport() },
    auth: "off",
    accountId: "acme",
    gateway: { gateways: { open: openToAll } },
  });
  const call = async (path: string, body: unknown, headers = {}) => {
    const init = { method: "POST", ...jsonInit(body, headers) };
    const response = await api.request(path, init);
    expect(response.status, await response.clone().text()).toBe(200);
    return (await response.json()) as { result: { key: string } };
  };
  const gateway = "/client/v4/accounts/acme/ai-gateway";
  const limits = [{ limitType: "requests", limit: 9, window: 60 }];
  const rate = { rate_limiting_interval: 60, rate_limiting_limit: 9 };
  await call(`${gateway}/gateways`, { id: "rated", ...requiredSettings, ...rate });
  const { result } = await call(`${gateway}/virtual-keys`, { name: "team", limits });
  const paid = { "cf-aig-authorization": `Bearer ${result.key}` };
  await call("/v1/acme/rated/openai/chat/completions", chat, paid);
  const search = "/client/v4/accounts/acme/ai-search/instances";
  await call(search, { id: "main" });
  await call(`${search}/main/search`, { query: "ferry" });
  await platform.close();
  expect(uncut).toEqual([]);
});
