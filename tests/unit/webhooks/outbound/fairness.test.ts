import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { OutboundRequest, Platform, Transport } from "../../../../core/ports.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";

/** Requests by URL, how many are held open, and the most that ever were. */
const got = new Map<string, { count: number; open: number; most: number; times: number[] }>();
const held = new Map<string, Promise<void>>();
const releases = new Map<string, () => void>();

/** Requests to endpoints of many that began between two timers, and the most that ever did. */
const together = { now: 0, most: 0 };

function countTogether(): void {
  together.now += 1;
  together.most = Math.max(together.most, together.now);
  if (together.now === 1) setTimeout(() => (together.now = 0), 0);
}

/** A transport whose other end answers 200, at once or when it is let go. */
const egress: Transport = {
  async send({ url }: OutboundRequest) {
    if (url.startsWith("https://many-")) countTogether();
    const seen = got.get(url) ?? { count: 0, open: 0, most: 0, times: [] };
    got.set(url, seen);
    seen.count++;
    seen.times.push(platform.system.now());
    seen.most = Math.max(seen.most, ++seen.open);
    await (held.get(url) ?? platform.system.sleep(1));
    seen.open--;
    return { status: 200, headers: [], body: null };
  },
};

let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = webhooksManagement({ platform: { ...platform, egress }, auth: "off", sources: {} });
});
afterAll(async () => {
  for (const url of releases.keys()) release(url);
  await platform.close();
});

async function api<T>(account: string, method: string, path: string, body?: unknown): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const url = `http://causey.test/accounts/${account}/webhooks${path}`;
  const response = await app.fetch(new Request(url, init));
  return ((await response.json()) as { result: T }).result;
}

async function endpoint(account: string, url: string, more: object = {}): Promise<string> {
  const { id } = await api<{ id: string }>(account, "POST", "/endpoints", {
    url,
    types: [url],
    ...more,
  });
  return id;
}

const send = (account: string, url: string): Promise<unknown> =>
  api(account, "POST", "/send", { type: url, payload: { a: 1 } });

function hold(url: string): void {
  held.set(url, new Promise((resolve) => releases.set(url, resolve)));
}

function release(url: string): void {
  held.delete(url);
  releases.get(url)?.();
}

const countOf = (url: string): number => got.get(url)?.count ?? 0;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await platform.system.sleep(5);
}

describe("endpoints", () => {
  it("that hang hold up nobody else, however much waits for them", async () => {
    const hanging = Array.from({ length: 5 }, (_, n) => `https://hangs-${n}.test/`);
    for (const url of hanging) {
      hold(url);
      await endpoint("hang", url);
      for (let n = 0; n < 30; n++) await send("hang", url);
    }
    const healthy = "https://healthy.test/";
    await endpoint("hang", healthy);
    for (let n = 0; n < 100; n++) await send("hang", healthy);
    await until(() => countOf(healthy) === 100);
    for (const url of hanging) {
      expect(countOf(url)).toBeGreaterThan(0);
      expect(countOf(url)).toBeLessThanOrEqual(4);
      release(url);
    }
    await until(() => hanging.every((url) => countOf(url) === 30));
  });

  it("that hang by the hundred leave two requests to each of the others", async () => {
    const hanging = Array.from({ length: 140 }, (_, n) => `https://pool-${n}.test/`);
    const types = ["to-all"];
    for (const url of hanging) {
      hold(url);
      await api("pool", "POST", "/endpoints", { url, types });
    }
    for (let n = 0; n < 5; n++) await send("pool", "to-all");
    const open = (): number => hanging.reduce((sum, url) => sum + (got.get(url)?.open ?? 0), 0);
    await until(() => open() >= 512);
    expect(open()).toBeLessThanOrEqual(512 + 140 * 2);
    const healthy = "https://pool-healthy.test/";
    await endpoint("pool", healthy);
    for (let n = 0; n < 20; n++) await send("pool", healthy);
    await until(() => countOf(healthy) === 20);
    expect(got.get(healthy)?.most).toBeLessThanOrEqual(2);
    for (const url of hanging) release(url);
    await until(() => hanging.every((url) => countOf(url) === 5));
  });

  it("of one message get their requests in several turns of the event loop", async () => {
    const urls = Array.from({ length: 100 }, (_, n) => `https://many-${n}.test/`);
    for (const url of urls) await api("many", "POST", "/endpoints", { url, types: ["to-many"] });
    await send("many", "to-many");
    await until(() => urls.every((url) => countOf(url) === 1));
    expect(together.most).toBeLessThan(urls.length);
  });

  it("get no more requests at a time than their concurrency, and more with each success", async () => {
    const narrow = "https://narrow.test/";
    const wide = "https://wide.test/";
    await endpoint("width", narrow, { concurrency: 2 });
    await endpoint("width", wide);
    await Promise.all(Array.from({ length: 300 }, () => send("width", wide)));
    await until(() => countOf(wide) === 300);
    hold(narrow);
    hold(wide);
    await Promise.all(
      Array.from({ length: 100 }, () => [send("width", narrow), send("width", wide)]).flat(),
    );
    await until(() => got.get(wide)?.open === 50 && got.get(narrow)?.open === 2);
    release(narrow);
    release(wide);
    await until(() => countOf(wide) === 400 && countOf(narrow) === 100);
    expect([got.get(wide)?.most, got.get(narrow)?.most]).toEqual([50, 2]);
  });

  it("get no more requests a second than their rate", async () => {
    const url = "https://paced.test/";
    await endpoint("rate", url, { rate_per_second: 4 });
    const began = platform.system.now();
    await Promise.all(Array.from({ length: 7 }, () => send("rate", url)));
    await until(() => countOf(url) === 7);
    const times = got.get(url)?.times ?? [];
    // Four at once, then one every 250 ms: the seventh after three quarters of a second.
    expect((times[6] ?? 0) - began).toBeGreaterThanOrEqual(740);
  });

  it("show their settings, which can be changed and are checked", async () => {
    const url = "https://settings.test/";
    const id = await endpoint("settings", url);
    const show = (): Promise<unknown> => api("settings", "GET", `/endpoints/${id}`);
    expect(await show()).toMatchObject({ concurrency: 50, rate_per_second: null });
    await api("settings", "PATCH", `/endpoints/${id}`, { concurrency: 1, rate_per_second: 0.5 });
    expect(await show()).toMatchObject({ concurrency: 1, rate_per_second: 0.5 });
    await api("settings", "PATCH", `/endpoints/${id}`, { rate_per_second: null });
    expect(await show()).toMatchObject({ concurrency: 1, rate_per_second: null });
    for (const bad of [{ concurrency: 0 }, { concurrency: 201 }, { rate_per_second: 0 }])
      expect(await api("settings", "PATCH", `/endpoints/${id}`, bad)).toBeNull();
  });
});
