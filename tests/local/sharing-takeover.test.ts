import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { host } from "../config/shared.ts";
import { testSocket } from "../platform/test-socket.ts";
import { look } from "./crash-run.ts";
import { exitOf } from "./runtimes.ts";
import { startLoad } from "./sharing-load.ts";
import {
  chat,
  end,
  endInTurn,
  ownerOf,
  makeGateway,
  sharingServer,
  until,
  type SharingServer,
} from "./sharing-servers.ts";

const started: SharingServer[] = [];
afterEach(() => {
  for (const { child } of started.splice(0)) child.kill("SIGKILL");
});

async function startServer(dataDir: string): Promise<SharingServer> {
  const server = await sharingServer(host, dataDir);
  started.push(server);
  return server;
}

async function startServers(count: number, dataDir: string): Promise<SharingServer[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => startServer(dataDir)));
  await makeGateway(servers[0]!, "loaded", { collect_logs: true });
  return servers;
}

/** Everything that was acknowledged is there once, and the database is whole. */
function check(dataDir: string, acknowledged: ReadonlySet<string>): void {
  const violations: string[] = [];
  look(join(dataDir, "causey.db"), acknowledged, { violations });
  expect(violations).toEqual([]);
}

function connect(server: SharingServer): ReturnType<typeof testSocket> {
  const url = `${server.url.replace("http", "ws")}/agents/box/kept?token=a-token-for-tests`;
  return testSocket(new WebSocket(url));
}

/** Requests that a load has to get through before something is done to it. */
const ENOUGH = 20;

describe("processes of one data directory", LONG, () => {
  it("begin at once on an empty folder", async () => {
    const dataDir = join(mkdtempSync(join(inject("scratch"), "sharing start ü ")), "x".repeat(90));
    const servers = await startServers(5, dataDir);
    for (const server of servers) expect(await chat(server, "loaded")).toBe(200);
    expect(await endInTurn(servers)).toEqual([0, 0, 0, 0, 0]);
    check(dataDir, new Set());
  });

  it("take over from one that is killed, and lose and double nothing", async () => {
    const dataDir = mkdtempSync(join(inject("scratch"), "sharing-kill-"));
    const servers = await startServers(3, dataDir);
    const acknowledged = new Set<string>();
    const loads = new Map(
      servers.map((server, n) => [server, startLoad(server, `load-${n}`, acknowledged)]),
    );
    let alive = servers;
    while (alive.length > 1) {
      for (const one of alive) {
        const load = loads.get(one)!;
        const before = load.done();
        await until(
          async () => load.done(),
          (done) => done > before + ENOUGH,
        );
      }
      const { owner, peers } = await ownerOf(alive);
      const socket = connect(peers[0]!);
      await socket.next();
      owner.child.kill("SIGKILL");
      expect(await socket.closed).toMatchObject({ code: 1012 });
      // A client that comes before the end is noticed is refused with 503, and comes again.
      await until(
        async () => {
          const again = connect(peers[0]!);
          const isOpen = await again.next().then(Boolean, () => false);
          again.close();
          return isOpen;
        },
        (isOpen) => isOpen,
      );
      await loads.get(owner)!.stop();
      alive = peers;
    }
    await until(
      async () => loads.get(alive[0]!)!.done(),
      (done) => done > 3 * ENOUGH,
    );
    for (const one of alive) await loads.get(one)!.stop();
    const others = [...loads.values()].flatMap(({ failures }) => failures);
    // Requests to the killed ones themselves have nobody left who could answer.
    const survivor = loads.get(alive[0]!)!.failures;
    expect(survivor.filter((failure) => !failure.endsWith(": 503"))).toEqual([]);
    expect(others.filter((failure) => / (?:500|4\d\d)$/.test(failure))).toEqual([]);
    expect(await endInTurn(alive)).toEqual([0]);
    check(dataDir, acknowledged);
  });

  it("are replaced one by one without a request that fails", async () => {
    const dataDir = mkdtempSync(join(inject("scratch"), "sharing-roll-"));
    const servers = await startServers(3, dataDir);
    const acknowledged = new Set<string>();
    const loads = new Map(
      servers.map((server, n) => [server, startLoad(server, `load-${n}`, acknowledged)]),
    );
    for (let n = 0; n < 3; n++) {
      const { owner } = await ownerOf(servers);
      // As a load balancer does, before it ends a server.
      await loads.get(owner)!.stop();
      const next = startServer(dataDir);
      end(owner.child);
      expect(await exitOf(owner.child)).toBe(0);
      servers.splice(servers.indexOf(owner), 1, await next);
      loads.set(await next, startLoad(await next, `next-${n}`, acknowledged));
      for (const one of servers) {
        const load = loads.get(one)!;
        const before = load.done();
        await until(
          async () => load.done(),
          (done) => done > before + ENOUGH,
        );
      }
    }
    for (const load of loads.values()) await load.stop();
    expect([...loads.values()].flatMap(({ failures }) => failures)).toEqual([]);
    expect(await endInTurn(servers)).toEqual([0, 0, 0]);
    check(dataDir, acknowledged);
  });

  it("end what a killed one was asked for, and serve the others on", async () => {
    const dataDir = mkdtempSync(join(inject("scratch"), "sharing-peer-"));
    const [owner, peer, other] = [
      await startServer(dataDir),
      await startServer(dataDir),
      await startServer(dataDir),
    ] as const;
    const socket = connect(peer);
    await socket.next();
    const waiting = peer.ask("/agents/box/kept/wait").catch(() => null);
    const endless = await peer.ask("/agents/box/kept/endless");
    const counts = async (): Promise<Record<"aborted" | "cancelled" | "waits", number>> =>
      (await (await other.ask("/agents/box/kept/counts")).json()) as never;
    await until(counts, ({ waits }) => waits === 1);
    peer.child.kill("SIGKILL");
    await until(counts, ({ aborted, cancelled }) => aborted === 1 && cancelled === 1);
    expect(await waiting).toBeNull();
    await expect(endless.text()).rejects.toThrow();
    expect((await socket.closed).code).not.toBe(1000);
    expect(await ownerOf([owner, other])).toMatchObject({ owner });
    expect(await endInTurn([other, owner])).toEqual([0, 0]);
  });
});
