import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { eventually, LONG } from "../../cases/eventually.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";
import { exitOf, missing, runtimes, type LocalRuntimeName } from "../runtimes.ts";
import {
  chat,
  end,
  makeGateway,
  sharingServer,
  webhook,
  type SharingServer,
} from "../sharing-servers.ts";

/** Long enough for servers that get little of a busy machine. */
const LEASE_MS = 5000;
const LIMIT = 10;

const lacks = runtimes.map(missing).find((one) => one !== false) ?? (await lacksPostgres());
let database = "";
/** Those that live, one of each runtime. */
const servers: SharingServer[] = [];
const started: SharingServer[] = [];
const lines: string[] = [];

async function startServer(runtime: LocalRuntimeName): Promise<SharingServer> {
  const folder = mkdtempSync(join(inject("scratch"), "cluster-"));
  const server = await sharingServer(runtime, folder, [database, String(LEASE_MS)]);
  started.push(server);
  server.child.stdout.on("data", (chunk: Uint8Array) => {
    lines.push(...new TextDecoder().decode(chunk).split("\n"));
  });
  return server;
}

beforeAll(async () => {
  if (lacks !== undefined) return;
  database = await freshDatabase();
  servers.push(...(await Promise.all(runtimes.map(startServer))));
  await shared();
});
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});
afterAll(() => {
  for (const { child } of started) child.kill("SIGKILL");
});

/** Resolves once each of the servers has its share of the objects. */
async function shared(): Promise<void> {
  await eventually(async () => {
    const rows = await asAdmin(
      database,
      "SELECT COUNT(*) AS n FROM causey_slots AS slot JOIN causey_nodes AS node ON node.id = slot.owner GROUP BY slot.owner",
    );
    return rows.length === servers.length && rows.every(({ n }) => Number(n) > 300);
  }, "the servers have their shares");
}

const through = (n: number): SharingServer => servers[n % servers.length]!;

async function events(entity: string): Promise<Record<string, unknown>> {
  const [row] = await asAdmin(
    database,
    `SELECT COUNT(*)::int AS events, COUNT(DISTINCT seq)::int AS numbers, MAX(seq)::int AS last
      FROM agents_events WHERE agent LIKE '%${entity}'`,
  );
  return { ...row };
}

const runs = (of: string): string[] => lines.filter((line) => line.includes(of));

async function ring(name: string): Promise<void> {
  const answer = await through(started.length).ask(`/agents/box/${name}/set`);
  expect(await answer.text()).toBe("set");
}

/** Sends webhooks through the servers of `to` until stopped; tells which were acknowledged. */
function load(entity: string, to: () => readonly SharingServer[]) {
  const acknowledged: string[] = [];
  const state = { isOver: false };
  const run = async (): Promise<void> => {
    for (let n = 0; !state.isOver; n += 1) {
      const at = to();
      // A sender sends again what was not acknowledged, to whichever server lives.
      const status = await webhook(at[n % at.length]!, "worked", entity, `${entity}-${n}`).catch(
        () => 0,
      );
      if (status >= 200 && status < 300) acknowledged.push(`${entity}-${n}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const running = run();
  return {
    acknowledged,
    async stop() {
      state.isOver = true;
      await running;
    },
  };
}

/** All that was acknowledged is stored, and handled. */
async function handled(acknowledged: readonly string[]): Promise<void> {
  const isIn = async (table: string, column: string): Promise<boolean> => {
    const rows = await asAdmin(database, `SELECT ${column} AS id FROM ${table}`);
    const found = new Set(rows.map(({ id }) => String(id)));
    return acknowledged.every((one) => found.has(one));
  };
  await eventually(() => isIn("crash_done", "id"), "all events are handled");
}

describe("three servers on one PostgreSQL, one of each runtime", LONG, () => {
  it("store and handle each of 200 events of one entity once, whichever receives them", async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `many-${n}`);
    const all = ids.map((id, n) => webhook(through(n), "worked", "many", id));
    // 200 where an owner that had stored it lost its lease before it answered: the next one is asked then.
    expect((await Promise.all(all)).every((status) => status < 300)).toBe(true);
    await handled(ids);
    expect(await events("many")).toEqual({ events: 200, numbers: 200, last: 200 });
    expect(runs("run many ")).toHaveLength(200);
  });

  it("store and handle one event once that is sent 50 times", async () => {
    const all = Array.from({ length: 50 }, (_, n) =>
      webhook(through(n), "worked", "single", "once"),
    );
    expect((await Promise.all(all)).every((status) => status < 300)).toBe(true);
    await handled(["once"]);
    expect((await events("single"))["events"]).toBe(1);
    expect(runs("run single ")).toHaveLength(1);
  });

  it("ring an alarm once", async () => {
    const names = Array.from({ length: 9 }, (_, n) => `alarm-${n}`);
    await Promise.all(names.map(ring));
    await eventually(
      () => Promise.resolve(names.every((name) => runs(`ring ${name}`).length > 0)),
      "all alarms rang",
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(names.flatMap((name) => runs(`ring ${name}`))).toHaveLength(9);
  });

  it.each([
    ["rate", { rate_limiting_interval: 86_400, rate_limiting_limit: LIMIT }, {}],
    [
      "spend",
      {
        spend_limits: {
          rules: [{ limit: LIMIT, limitType: "cost", window: 86_400, technique: "sliding" }],
          on_unknown: "allow",
        },
      },
      { "cf-aig-custom-cost": '{"total_cost":1}' },
    ],
  ])("keep a %s limit exactly", async (id, settings, headers) => {
    await makeGateway(through(0), `limit-${id}`, settings);
    const asked = Array.from({ length: 3 * LIMIT }, (_, n) =>
      chat(through(n), `limit-${id}`, headers),
    );
    const statuses = await Promise.all(asked);
    expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2 * LIMIT);
  });

  it("are replaced one by one, and lose nothing and refuse nothing", async () => {
    const running = load("rolled", () => servers.slice(0, 2));
    await ring("rolled-alarm");
    const leaving = servers.pop()!;
    end(leaving.child);
    expect(await exitOf(leaving.child)).toBe(0);
    servers.push(await startServer("bun"));
    await shared();
    await running.stop();
    await handled(running.acknowledged);
    expect(running.acknowledged.length).toBeGreaterThan(10);
    await eventually(
      () => Promise.resolve(runs("ring rolled-alarm").length > 0),
      "the alarm of an object that moved rang",
    );
    expect(runs("ring rolled-alarm")).toHaveLength(1);
  });

  it("go on without one that is killed, and lose nothing that was acknowledged", async () => {
    const running = load("killed", () => servers);
    const names = Array.from({ length: 9 }, (_, n) => `left-${n}`);
    await Promise.all(names.map(ring));
    const [killed] = servers.splice(0, 1);
    killed!.child.kill("SIGKILL");
    await shared();
    const before = running.acknowledged.length;
    await eventually(
      () => Promise.resolve(running.acknowledged.length > before + 10),
      "webhooks are taken again",
    );
    await running.stop();
    await handled(running.acknowledged);
    await eventually(
      () => Promise.resolve(names.every((name) => runs(`ring ${name}`).length > 0)),
      "the alarms of the killed one rang",
    );
  });
});
