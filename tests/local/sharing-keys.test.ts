import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { host } from "../config/shared.ts";
import {
  gateways,
  makeGateway,
  sharingServer,
  until,
  type SharingServer,
} from "./sharing-servers.ts";

const management = gateways.replace(/gateways$/, "");
const PROCESSES = 4;
/** Requests that are sent at once. */
const REQUESTS = 60;
/** USD. An answer of 100 words costs a tenth of one. */
const LIMIT = 1.5;
const WORDS = 100;

let servers: SharingServer[] = [];

async function manage<T>(path: string, method = "GET", body?: object): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const response = await servers[0]!.ask(`${management}${path}`, init);
  const { result, errors } = (await response.json()) as { result: T; errors: unknown };
  expect([response.status, errors]).toEqual([200, []]);
  return result;
}

beforeAll(async () => {
  const dataDir = mkdtempSync(join(inject("scratch"), "sharing-keys-"));
  const first = await sharingServer(host, dataDir);
  const peers = Array.from({ length: PROCESSES - 1 }, () => sharingServer(host, dataDir));
  servers = [first, ...(await Promise.all(peers))];
  await makeGateway(first, "team");
  const price = { provider: "echo", model: "echo-demo", input: 0, output: 1000, source: "a test" };
  await manage("prices", "PUT", price);
});
afterAll(() => {
  for (const { child } of servers) child.kill("SIGKILL");
});

interface Key {
  readonly id: string;
  readonly key: string;
}
const limits = [{ limitType: "cost", limit: LIMIT }];
const makeKey = (settings: object = { limits }): Promise<Key> =>
  manage("virtual-keys", "POST", { name: "team", ...settings });
async function usedBy({ id }: Key): Promise<number> {
  const { usage } = await manage<{ usage: { used: number }[] }>(`virtual-keys/${id}`);
  return usage[0]?.used ?? 0;
}

/** Asks for an answer of {@link WORDS} words; resolves to the status. */
async function ask({ url }: SharingServer, { key }: Key, bound: number): Promise<number> {
  const content = "word ".repeat(WORDS).trim();
  const messages = [{ role: "user", content }];
  const response = await fetch(`${url}/v1/local/team/echo/chat/completions`, {
    method: "POST",
    headers: { "cf-aig-authorization": `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "echo-demo", messages, max_tokens: bound }),
  });
  await response.text();
  return response.status;
}

/** The statuses of many requests at once, through all processes. */
async function burst(keys: readonly Key[], bound: number): Promise<Record<number, number>> {
  const all = Array.from({ length: REQUESTS }, (_, n) =>
    ask(servers[n % servers.length]!, keys[n % keys.length]!, bound),
  );
  const count: Record<number, number> = {};
  for (const status of await Promise.all(all)) count[status] = (count[status] ?? 0) + 1;
  return count;
}

describe("a virtual key that is used through four processes at once", () => {
  it("keeps its limit of cost exactly", async () => {
    const key = await makeKey();
    expect(await burst([key], WORDS)).toEqual({ 200: 15, 429: REQUESTS - 15 });
    expect(await usedBy(key)).toBeCloseTo(LIMIT, 9);
  });

  it("keeps it where answers are shorter than they might be, and uses it up in the end", async () => {
    const key = await makeKey();
    const { 200: passed = 0, ...others } = await burst([key], 3 * WORDS);
    expect(Object.keys(others)).toEqual(["429"]);
    // Those that ran side by side had three times of what they used set aside.
    expect(passed).toBeGreaterThanOrEqual(5);
    expect(passed).toBeLessThanOrEqual(15);
    await until(
      () => usedBy(key),
      (used) => Math.abs(used - passed / 10) < 1e-9,
    );
    expect(await burst([key], WORDS)).toEqual(
      passed === 15 ? { 429: REQUESTS } : { 200: 15 - passed, 429: REQUESTS - 15 + passed },
    );
    expect(await usedBy(key)).toBeCloseTo(LIMIT, 9);
  });
});

describe("a team whose keys are used through four processes at once", () => {
  it("keeps its budget exactly", async () => {
    await manage("teams", "POST", { id: "research", limits });
    const keys = await Promise.all(Array.from({ length: 3 }, () => makeKey({ team: "research" })));
    expect(await burst(keys, WORDS)).toEqual({ 200: 15, 429: REQUESTS - 15 });
    const { usage } = await manage<{ usage: { used: number }[] }>("teams/research");
    expect(usage[0]?.used).toBeCloseTo(LIMIT, 9);
  });
});
