import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentClient } from "agents/client";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import type { LocalRuntimeName } from "../local/runtimes.ts";
import { ownerOf, sharingServer, type SharingServer } from "../local/sharing-servers.ts";

const target = inject("target");
const it = itUnless(
  target === "workers" ? "on Workers there is no process to share anything with" : undefined,
);
const clients: AgentClient<Box>[] = [];
let dataDir = "";
let servers: SharingServer[] = [];

interface Box {
  readonly n: number;
}

beforeAll(async () => {
  if (target === "workers") return;
  dataDir = mkdtempSync(join(tmpdir(), "causey-sharing-"));
  const start = (): Promise<SharingServer> => sharingServer(target as LocalRuntimeName, dataDir);
  servers = [await start(), await start(), await start()];
});
afterAll(async () => {
  for (const client of clients) client.close();
  for (const { child } of servers) child.kill("SIGKILL");
  if (dataDir !== "") rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

/** The unmodified client. */
function connect({ url }: SharingServer): AgentClient<Box> {
  const client = new AgentClient<Box>({
    agent: "box",
    name: "shared",
    host: new URL(url).host,
    query: { token: "a-token-for-tests" },
    minReconnectionDelay: 10,
    maxReconnectionDelay: 200,
  });
  clients.push(client);
  return client;
}

/** Resolves once the client knows that state. */
function knows(client: AgentClient<Box>, n: number): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (client.state?.n === n) resolve();
    };
    client.addEventListener("message", look);
    look();
  });
}

async function count(client: AgentClient<Box>): Promise<unknown[]> {
  const parts: unknown[] = [];
  const last = await client.call("count", [3], { onChunk: (part) => parts.push(part) });
  return [...parts, last];
}

describe("AgentClient at processes that share a data directory", () => {
  it("has state, calls and streams, and comes back after the owner was killed", async () => {
    const { owner, peers } = await ownerOf(servers);
    const [a, b] = [connect(peers[0]!), connect(peers[1]!)];
    await Promise.all([a.ready, b.ready]);
    expect([a.identified, a.state, b.state]).toEqual([true, { n: 0 }, { n: 0 }]);
    a.setState({ n: 5 });
    await knows(b, 5);
    expect(await b.call("add")).toBe(6);
    await knows(a, 6);
    expect(await count(a)).toEqual([1, 2, 3]);

    const codes: number[] = [];
    const again = [a, b].map(
      (client) =>
        new Promise((resolve) => {
          client.addEventListener("close", ({ code }) => codes.push(code), { once: true });
          client.addEventListener("open", resolve, { once: true });
        }),
    );
    owner.child.kill("SIGKILL");
    await Promise.all(again);
    await Promise.all([a.ready, b.ready]);
    expect(codes).toEqual([1012, 1012]);
    expect([a.state, b.state]).toEqual([{ n: 6 }, { n: 6 }]);
    expect(await a.call("add")).toBe(7);
    await knows(b, 7);
    expect(await count(b)).toEqual([1, 2, 3]);
  });
});
