import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { nameOf, parseExposition } from "../fakes/gateway-exposition.ts";
import { noBrowser, startTarget, type Target } from "./target.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const TOKEN = "metrics-token-with-every-permission-00";
const folder = mkdtempSync(join(tmpdir(), "causey-metrics-"));
let upstream: Upstream;
let server: Target;

const start = (): Promise<Target> =>
  startTarget({
    dataDir: join(folder, "data"),
    args: ["--config", join(folder, "causey.json"), "--no-demo"],
    env: { ...noBrowser, CAUSEY_TOKEN: TOKEN },
  });

beforeAll(async () => {
  upstream = await startUpstream();
  const config = {
    gateway: {
      metrics: true,
      providers: { openai: { baseUrl: `${upstream.url}/v1` } },
      gateways: { open: { authentication: false } },
    },
  };
  writeFileSync(join(folder, "causey.json"), JSON.stringify(config));
  server = await start();
});
afterAll(async () => {
  await server.stop();
  await upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (mode: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.url}/v1/local/open/openai/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-test-mode": mode,
      "cf-aig-collect-log": "false",
    },
    body: JSON.stringify({ model: "test-model", messages: [{ role: "user", content: "hello" }] }),
    ...init,
  });

const scrape = (headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}/client/v4/accounts/local/ai-gateway/metrics`, {
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
  });

const labels = { gateway: "open", provider: "openai", model: "test-model", cached: "false" };

/** The tries by status and success, once there are so many. */
async function tries(count: number): Promise<Record<string, number>> {
  for (;;) {
    const { samples } =
      parseExposition(await (await scrape()).text()).get("causey_gateway_requests_total") ?? {};
    const found: Record<string, number> = {};
    for (const status of ["200", "429", "none"])
      for (const success of ["true", "false"]) {
        const name = nameOf("causey_gateway_requests_total", { ...labels, status, success });
        const value = samples?.get(name);
        if (value !== undefined) found[`${status} ${success}`] = value;
      }
    if (Object.values(found).reduce((sum, one) => sum + one, 0) >= count) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("the metrics of a served gateway", () => {
  it("are exact under concurrency, broken and left streams included, and outlive a restart", async () => {
    const asked = Array.from({ length: 40 }, async (_, at) =>
      (await ask(at % 4 === 0 ? "sse" : at % 4 === 1 ? "error429" : "json")).text(),
    );
    await Promise.all(asked);
    await (await ask("truncate")).text().catch(() => undefined);
    const leaving = new AbortController();
    // One that goes on sending: workerd notices at its next write that a client left.
    const left = await ask("slow", { signal: leaving.signal });
    await left.body?.getReader().read();
    leaving.abort();
    const expected = { "200 true": 30, "200 false": 2, "429 false": 10 };
    expect(await tries(42)).toEqual(expected);
    await (await ask("json")).text();
    expect(await server.stop()).toBe(0);
    server = await start();
    expect(await tries(43)).toEqual({ ...expected, "200 true": 31 });
    const families = parseExposition(await (await scrape()).text());
    const value = (name: string, more: Record<string, string> = {}): number | undefined =>
      families.get(name.replace(/_count$/, ""))?.samples.get(nameOf(name, { ...labels, ...more }));
    expect(value("causey_gateway_request_duration_seconds_count")).toBe(43);
    expect(value("causey_gateway_tokens_total", { type: "input" })).toBe(21 * 7 + 10 * 5);
    expect(value("causey_gateway_tokens_total", { type: "output" })).toBe(31 * 3);
  });

  it("never go down, although the server is killed in the middle of its work", async () => {
    const dead = new AbortController();
    const asking = Array.from({ length: 8 }, async () => {
      while (!dead.signal.aborted)
        await ask("json")
          .then((answer) => answer.text())
          .catch(() => undefined);
    });
    const read = async (): Promise<Map<string, number>> => {
      const families = parseExposition(await (await scrape()).text());
      const counters = [...families.values()].filter(({ type }) => type !== "gauge");
      return new Map(counters.flatMap(({ samples }) => [...samples]));
    };
    let last = await read();
    for (let i = 0; i < 10; i++) last = await read();
    await server.kill();
    dead.abort();
    await Promise.all(asking);
    server = await start();
    const found = await read();
    expect(last.size).toBeGreaterThan(20);
    for (const [name, value] of last)
      expect([name, found.get(name)]).toEqual([name, expect.toSatisfy((now) => now >= value)]);
  });

  it("are read with a bearer token that may read logs, as the scraper's Accept asks", async () => {
    expect((await scrape({ authorization: "Bearer wrong" })).status).toBe(401);
    expect((await scrape()).headers.get("content-type")).toBe(
      "text/plain; version=0.0.4; charset=utf-8",
    );
    const accept =
      "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
    const open = await scrape({ accept });
    expect(open.headers.get("content-type")).toBe(
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
    );
    expect(parseExposition(await open.text(), true).size).toBe(11);
  });

  it("are on in a server of the command, which counts for the whole platform, too", async () => {
    const headers = { authorization: `Bearer ${inject("token")}` };
    const own = `${inject("baseUrl")}/client/v4/accounts/${inject("accountId")}/ai-gateway/metrics`;
    expect((await fetch(own, { headers })).status).toBe(200);
    const all = await fetch(`${inject("baseUrl")}/metrics`, { headers });
    expect(all.status).toBe(200);
    const text = await all.text();
    expect(text).toContain("causey_http_requests_total{");
    expect(parseExposition(text).has("causey_gateway_requests_total")).toBe(true);
    expect((await fetch(`${inject("baseUrl")}/metrics`)).status).toBe(401);
  });
});
