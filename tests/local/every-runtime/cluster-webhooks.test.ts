import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { slotOf } from "../../../adapters/postgres/slot-of.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";
import { missing, runtimes, type LocalRuntimeName } from "../runtimes.ts";
import { sharingServer, webhook, type SharingServer } from "../sharing-servers.ts";

/** No server takes over by itself as long as a test runs. */
const LEASE_MS = 600_000;
/** Enough for each server to have some of them. */
const ENTITIES = Array.from({ length: 24 }, (_, n) => `entity-${n}`);

const lacks = runtimes.map(missing).find((one) => one !== false) ?? (await lacksPostgres());
let database = "";
/** The first one is taken away. */
let servers: readonly SharingServer[] = [];
let lost = "";

beforeAll(async () => {
  if (lacks !== undefined) return;
  database = await freshDatabase();
  const first = await startServer("node");
  await eventually(async () => {
    const [row] = await asAdmin(database, "SELECT id FROM causey_nodes");
    if (row !== undefined) lost = String(row["id"]);
    return row !== undefined;
  }, "the first server has joined");
  servers = [first, ...(await Promise.all((["deno", "bun"] as const).map(startServer)))];
  await eventually(async () => {
    const shares = await asAdmin(
      database,
      "SELECT COUNT(*) AS n FROM causey_slots WHERE owner IS NOT NULL GROUP BY owner",
    );
    return shares.length === 3 && shares.every(({ n }) => Number(n) > 300);
  }, "the servers have their shares");
});
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});
afterAll(() => {
  for (const { child } of servers) child.kill("SIGKILL");
});

async function startServer(runtime: LocalRuntimeName): Promise<SharingServer> {
  const folder = mkdtempSync(join(inject("scratch"), "cluster-"));
  return sharingServer(runtime, folder, [database, String(LEASE_MS)]);
}

/** Which of the slots the first server has. */
async function slotsOfLost(): Promise<ReadonlySet<number>> {
  const rows = await asAdmin(database, `SELECT slot FROM causey_slots WHERE owner = '${lost}'`);
  return new Set(rows.map(({ slot }) => Number(slot)));
}

/** Which of the entities the first server has. */
async function entitiesOfLost(): Promise<string[]> {
  const slots = await slotsOfLost();
  return ENTITIES.filter((one) => slots.has(slotOf("agent:crash-worker", one)));
}

/** Sends an event of each entity, twice, through the two other servers. All of them are taken. */
async function sendAll(round: string): Promise<void> {
  const [, second, third] = servers as [SharingServer, SharingServer, SharingServer];
  for (const server of [second, third]) {
    const all = ENTITIES.map((one) => webhook(server, "worked", one, `${one}-${round}`));
    expect((await Promise.all(all)).filter((status) => status >= 300)).toEqual([]);
  }
}

/** Every event of a round is stored once, as the next one of its entity, and its handler has run once. */
async function handledOnce(round: string, last: number): Promise<void> {
  const runs = (): Promise<readonly Record<string, unknown>[]> =>
    asAdmin(
      database,
      `SELECT COUNT(*)::int AS runs FROM crash_done WHERE id LIKE '%-${round}' GROUP BY id`,
    );
  await eventually(
    async () => (await runs()).length === ENTITIES.length,
    "the events of all entities are handled",
  );
  const rows = await asAdmin(
    database,
    `SELECT agent, COUNT(*)::int AS events, MAX(seq)::int AS last FROM agents_events GROUP BY agent`,
  );
  expect(rows.map(({ events, last: newest }) => [events, newest])).toEqual(
    ENTITIES.map(() => [last, last]),
  );
  await eventually(
    async () => (await asAdmin(database, "SELECT 1 FROM causey_news")).length === 0,
    "no news is left",
  );
  expect(await runs()).toEqual(ENTITIES.map(() => ({ runs: 1 })));
}

/** Gives the first server the object that `/readyz` asks; the others read that with their next renewal. */
async function moveHealth(): Promise<void> {
  const slot = slotOf("health", "ready");
  await asAdmin(
    database,
    `UPDATE causey_slots SET owner = '${lost}', epoch = epoch + 1 WHERE slot = ${slot}`,
  );
}

describe("webhooks for objects of a server that does not answer", LONG, () => {
  it("are stored by others while it stands still, and handled when it goes on", async () => {
    const [{ child }] = servers as [SharingServer];
    expect((await entitiesOfLost()).length).toBeGreaterThan(0);
    await sendAll("before");
    await handledOnce("before", 1);
    process.kill(child.pid!, "SIGSTOP");
    await sendAll("still");
    process.kill(child.pid!, "SIGCONT");
    await handledOnce("still", 2);
  });

  it("are stored by others when it is killed, and handled by those that take over", async () => {
    const [{ child }] = servers as [SharingServer];
    child.kill("SIGKILL");
    await moveHealth();
    const left = await entitiesOfLost();
    await sendAll("killed");
    // It had the objects until now: nobody waited for its lease.
    expect(await entitiesOfLost()).toEqual(left);
    for (const one of servers.slice(1)) expect((await one.ask("/readyz")).status).toBe(200);
    await asAdmin(database, `UPDATE causey_nodes SET expires = now() WHERE id = '${lost}'`);
    await handledOnce("killed", 3);
  });
});
