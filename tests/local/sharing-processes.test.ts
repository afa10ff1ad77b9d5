import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { host } from "../config/shared.ts";
import { testSocket } from "../platform/test-socket.ts";
import {
  chat,
  endInTurn,
  gateways,
  makeGateway,
  sharingServer,
  until,
  webhook,
  type SharingServer,
} from "./sharing-servers.ts";

let servers: SharingServer[] = [];
/** Those that do not hold the data directory. */
let peers: SharingServer[] = [];

beforeAll(async () => {
  const dataDir = mkdtempSync(join(inject("scratch"), "sharing-processes-"));
  const first = await sharingServer(host, dataDir);
  peers = await Promise.all([sharingServer(host, dataDir), sharingServer(host, dataDir)]);
  servers = [first, ...peers];
});
afterAll(async () => {
  for (const { child } of servers) child.kill("SIGKILL");
});

const REQUESTS = 45;
const LIMIT = 15;

/** The statuses of requests to all servers at once. */
async function statuses(gateway: string, headers?: Record<string, string>): Promise<object> {
  const all = Array.from({ length: REQUESTS }, (_, n) =>
    chat(servers[n % servers.length]!, gateway, headers),
  );
  const count: Record<number, number> = {};
  for (const status of await Promise.all(all)) count[status] = (count[status] ?? 0) + 1;
  return count;
}

async function jsonOf<T>(response: Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

/** The counts of what happened at the agents, which live with the lock owner. */
const counts = (): Promise<Record<"aborted" | "cancelled" | "chunks" | "waits", number>> =>
  jsonOf(peers[0]!.ask("/agents/box/counts/counts"));

/** Reads a stream of events until it holds `text`. */
async function readUntil(response: Response, ...texts: string[]): Promise<string> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let all = "";
  while (!texts.every((text) => all.includes(text))) {
    const { done, value } = await reader.read();
    if (done) break;
    all += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return all;
}

describe("processes of one data directory", () => {
  it.each(["fixed", "sliding"])("keep a %s rate limit exactly", async (technique) => {
    await makeGateway(servers[1]!, `rate-${technique}`, {
      rate_limiting_interval: 86_400,
      rate_limiting_limit: LIMIT,
      rate_limiting_technique: technique,
    });
    expect(await statuses(`rate-${technique}`)).toEqual({ 200: LIMIT, 429: REQUESTS - LIMIT });
  });

  it("keep a spend limit exactly", async () => {
    const rule = { limit: LIMIT, limitType: "cost", window: 86_400, technique: "sliding" };
    // The model has no price: what the caller says then counts.
    const limits = { rules: [rule], on_unknown: "allow" };
    await makeGateway(servers[2]!, "spend", { spend_limits: limits });
    const cost = { "cf-aig-custom-cost": '{"total_cost":1}' };
    expect(await statuses("spend", cost)).toEqual({ 200: LIMIT, 429: REQUESTS - LIMIT });
  });

  it("see a gateway made, changed and deleted at once", async () => {
    const [a, b, c] = servers as [SharingServer, SharingServer, SharingServer];
    await makeGateway(b, "seen");
    expect([await chat(a, "seen"), await chat(b, "seen"), await chat(c, "seen")]).toEqual([
      200, 200, 200,
    ]);
    const settings = { rate_limiting_interval: 86_400, rate_limiting_limit: 1 };
    const change = { cache_invalidate_on_update: false, cache_ttl: 0, collect_logs: false };
    const changed = await c.ask(`${gateways}/seen`, {
      method: "PUT",
      body: JSON.stringify({ ...change, ...settings }),
    });
    expect([changed.status, await changed.text()]).toEqual([200, expect.any(String)]);
    expect([await chat(a, "seen"), await chat(b, "seen")]).toEqual([200, 429]);
    await (await a.ask(`${gateways}/seen`, { method: "DELETE" })).text();
    // Whoever has no token is not told which gateways there are.
    expect([await chat(a, "seen"), await chat(b, "seen"), await chat(c, "seen")]).toEqual([
      401, 401, 401,
    ]);
  });

  it("take an API token made elsewhere, and no longer once it is deleted elsewhere", async () => {
    const [a, b, c] = servers as [SharingServer, SharingServer, SharingServer];
    const groups = await jsonOf<{ result: { id: string }[] }>(
      a.ask("/client/v4/user/tokens/permission_groups?name=Agents%20Read"),
    );
    const made = await jsonOf<{ result: { id: string; value: string } }>(
      b.ask("/client/v4/accounts/local/tokens", {
        method: "POST",
        body: JSON.stringify({
          name: "shared",
          policies: [
            {
              effect: "allow",
              permission_groups: [{ id: groups.result[0]!.id }],
              resources: { "com.cloudflare.api.account.local": "*" },
            },
          ],
        }),
      }),
    );
    const tried = async (server: SharingServer): Promise<number> => {
      const authorization = `Bearer ${made.result.value}`;
      const response = await fetch(`${server.url}/client/v4/user/tokens/verify`, {
        headers: { authorization },
      });
      await response.text();
      return response.status;
    };
    expect([await tried(a), await tried(b), await tried(c)]).toEqual([200, 200, 200]);
    const path = `/client/v4/accounts/local/tokens/${made.result.id}`;
    await (await c.ask(path, { method: "DELETE" })).text();
    expect([await tried(a), await tried(b), await tried(c)]).toEqual([401, 401, 401]);
  });

  it("search at each what was made at a guest", async () => {
    // The lock owner has had nothing to do with a search before.
    const root = "/client/v4/accounts/local/ai-search/instances";
    const made = await peers[0]!.ask(root, { method: "POST", body: '{"id":"shared"}' });
    expect([made.status, await made.text()]).toEqual([200, expect.any(String)]);
    for (const server of servers) {
      const found = await server.ask(`${root}/shared`);
      expect([found.status, await found.text()]).toEqual([200, expect.any(String)]);
    }
  });

  it("list and follow the log rows of all at each", async () => {
    await makeGateway(servers[0]!, "logged", { collect_logs: true });
    // From the first row on: when a follower without a position begins is its own affair.
    const headers = { "last-event-id": "0" };
    const tail = await peers[1]!.ask(`${gateways}/logged/logs/tail`, { headers });
    for (const [n, server] of servers.entries())
      expect(await chat(server, "logged", { "cf-aig-event-id": `at-${n}` })).toBe(200);
    // Each process stores its rows when it comes to it: in any order.
    expect(await readUntil(tail, "at-0", "at-1", "at-2")).toContain("event: following");
    for (const server of servers) {
      const list = (): Promise<{ result: unknown[] }> =>
        jsonOf(server.ask(`${gateways}/logged/logs`));
      await until(list, ({ result }) => result.length === servers.length);
    }
  });

  it("stream an agent's events at a guest", async () => {
    const events = await peers[0]!.ask("/agents/webhook-agent/streamed/events?since=0");
    expect(await webhook(peers[1]!, "plain", "streamed", "one")).toBe(200);
    expect(await readUntil(events, "one")).toContain("id: 1\n");
  });

  it("tell an agent's state to the clients of all, whoever sets it", async () => {
    const clients = await Promise.all(
      servers.map(async ({ url }) => {
        const address = `${url.replace("http", "ws")}/agents/box/shared?token=a-token-for-tests`;
        const client = new WebSocket(address);
        const socket = testSocket(client);
        const stateOf = async (n: number): Promise<void> => {
          for (;;) {
            const frame = JSON.parse(String(await socket.next())) as Record<string, unknown>;
            if (frame["type"] !== "cf_agent_state") continue;
            if ((frame["state"] as { n: number }).n === n) return;
          }
        };
        await stateOf(0);
        return { socket, stateOf };
      }),
    );
    const others = (but: object): typeof clients => clients.filter((one) => one !== but);
    let n = 0;
    for (const setter of clients) {
      n += 1;
      setter.socket.send(JSON.stringify({ type: "cf_agent_state", state: { n } }));
      await Promise.all(others(setter).map(({ stateOf }) => stateOf(n)));
    }
    for (const { socket } of clients) socket.close();
  });
});

describe("a request at a guest", () => {
  it("that no program can make, or whose answer none can take, harms no other", async () => {
    const peer = peers[0]!;
    const slow = peer.ask("/agents/box/slow/endless");
    const reader = (await slow).body!.getReader();
    await reader.read();
    await (await peer.ask("/agents/box/odd/unusable")).text();
    const client = new WebSocket(
      `${peer.url.replace("http", "ws")}/agents/box/odd?token=a-token-for-tests`,
    );
    const socket = testSocket(client);
    await socket.next();
    socket.send("close badly");
    for (let n = 0; n < 20; n++) {
      const response = await peer.ask("/agents/box/odd/text", { method: "HEAD" });
      expect([response.status, await response.text()]).toEqual([200, ""]);
    }
    socket.close();
    await socket.closed;
    // Still the same connection to the lock owner.
    for (let n = 0; n < 5; n++) expect((await reader.read()).done).toBe(false);
    await reader.cancel();
  });

  it("reads an agent's answer at its client's pace, and its leaving reaches the agent", async () => {
    const before = await counts();
    const leaving = new AbortController();
    const response = await peers[0]!.ask("/agents/box/slow/endless", { signal: leaving.signal });
    const reader = response.body!.getReader();
    await reader.read();
    // Nobody reads: what is under way fills up, and then it stands still.
    let last = -1;
    await until(
      async () => {
        const { chunks } = await counts();
        const isStill = chunks === last;
        last = chunks;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return isStill;
      },
      (isStill) => isStill,
    );
    expect((last - before.chunks) * 64 * 1024).toBeLessThan(64 * 1024 * 1024);
    leaving.abort();
    await until(counts, ({ cancelled }) => cancelled > before.cancelled);
  });

  it("is aborted at the agent when its client leaves", async () => {
    const before = await counts();
    const leaving = new AbortController();
    const waiting = peers[1]!.ask("/agents/box/waits/wait", { signal: leaving.signal });
    await until(counts, ({ waits }) => waits > before.waits);
    // Node's requests pass an abort on only as long as somebody holds them.
    for (let n = 0; n < 2; n++) await (await servers[0]!.ask("/collect")).text();
    leaving.abort();
    await expect(waiting).rejects.toThrow();
    await until(counts, ({ aborted }) => aborted > before.aborted);
  });

  it("carries large bodies both ways", async () => {
    const peer = peers[0]!;
    const size = 32 * 1024 * 1024;
    const upload = peer.ask("/agents/box/large/upload", {
      method: "POST",
      body: new Uint8Array(size),
    });
    expect(await jsonOf(upload)).toBe(size);
    const whole = await peer.ask("/agents/box/large/whole");
    expect((await whole.arrayBuffer()).byteLength).toBe(8 * 1024 * 1024);
  });
});

describe("the end of all", () => {
  it("loses no log row, the owner going first", async () => {
    const rows = 30;
    const made = servers.map(async (server, at) => {
      for (let n = 0; n < rows; n++)
        expect(await chat(server, "logged", { "cf-aig-event-id": `last-${at}-${n}` })).toBe(200);
    });
    await Promise.all(made);
    expect(await endInTurn(servers.slice(0, 2))).toEqual([0, 0]);
    const total = async (): Promise<number> => {
      const list = servers[2]!.ask(`${gateways}/logged/logs?per_page=1`);
      const { result_info: told } = await jsonOf<{ result_info: { total_count: number } }>(list);
      return told.total_count;
    };
    // Its own rows may wait for their next try: it has just taken over.
    await until(total, (count) => count >= 3 + rows * servers.length);
    expect(await total()).toBe(3 + rows * servers.length);
    expect(await endInTurn(servers.slice(2))).toEqual([0]);
  });
});
