import { afterAll, beforeAll, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { postgresStore } from "../../../adapters/postgres/postgres-store.ts";
import { localActors, type LocalActors } from "../../../adapters/shared/actors/local-actors.ts";
import { agents, defineAgent } from "../../../core/agents/mod.ts";
import type { IncomingEvent, IngestReceipt } from "../../../core/entity/event.ts";
import type { Platform } from "../../../core/ports.ts";
import { asAdmin, describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";

const event = (id: string): IncomingEvent => ({
  record: {
    id,
    type: "t",
    action: null,
    title: "t",
    description: null,
    url: null,
    actor: null,
    payload: null,
    timestamp: new Date().toISOString(),
  },
  provider: "p",
  headers: "{}",
  bodyHash: null,
  bodyWindowMs: 0,
  canonical: "entity",
  owners: ["p"],
  claim: "free",
  // Their jobs wait for who asked, so that they can be counted.
  respond: "processed",
  retention: { maxEvents: null, maxAgeMs: null },
});

/** The actors of a process that shares its database with others, and calls none of them. */
async function lone(base: Platform, db: PostgresDatabase): Promise<LocalActors> {
  const { log, system } = base;
  const fence = { slot: 0, epoch: 0 };
  const store = await postgresStore({ db, system, log, fenceOf: () => fence, ownSlots: () => [] });
  return localActors({ store, system, log, upgrade: () => null });
}

// Two processes may append events of one entity: while it moves, its former node may still do so.
await describeOnPostgres("two processes that store events of one entity", () => {
  let url = "";
  let nodes: readonly Platform[] = [];
  const node = async (): Promise<Platform> => {
    const db = await openPostgres({ url, log: () => undefined });
    const base = await openPlatform();
    const actors = await lone(base, db);
    const close = async (): Promise<void> => {
      await actors.close(1000);
      await Promise.all([base.close(), db.close()]);
    };
    return { ...base, actors, close };
  };
  beforeAll(async () => {
    url = await freshDatabase();
    nodes = await Promise.all([1, 2].map(node));
    const definition = defineAgent({ name: "both", onEvent: () => undefined });
    for (const platform of nodes) agents({ platform, auth: "off", agents: [definition] });
  });
  afterAll(async () => {
    await Promise.all(nodes.map((platform) => platform.close()));
  });

  const ingest = (id: string, entity: string) => async (platform: Platform) =>
    (await platform.actors
      .get("agent:both", entity)
      .call("ingest", event(id))) as unknown as IngestReceipt;
  const count = async (entity: string) => {
    const [row] = await asAdmin(
      url,
      `SELECT (SELECT COUNT(*)::int FROM agents_events WHERE agent LIKE '%${entity}') AS events,
        (SELECT MAX(seq)::int FROM agents_events WHERE agent LIKE '%${entity}') AS last,
        (SELECT COUNT(*)::int FROM agents_jobs WHERE agent LIKE '%${entity}') AS jobs`,
    );
    return { ...row };
  };

  it("number them without gaps, and refuse none", async () => {
    for (const one of nodes) await ingest(`first-${nodes.indexOf(one)}`, "many")(one);
    const outcomes: string[] = [];
    for (let n = 0; n < 100; n += 1) {
      const pair = nodes.map((one, of) => ingest(`e${n}-${of}`, "many")(one));
      outcomes.push(...(await Promise.all(pair)).map(({ outcome }) => outcome));
    }
    expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(200);
    expect(await count("many")).toEqual({ events: 202, last: 202, jobs: 202 });
  });

  it("store one id once, with one job, however often it is sent", async () => {
    for (const one of nodes) await ingest(`first-${nodes.indexOf(one)}`, "once")(one);
    const rounds = Array.from({ length: 25 }, () => Promise.all(nodes.map(ingest("same", "once"))));
    const outcomes = (await Promise.all(rounds)).flat().map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "duplicate")).toHaveLength(49);
    expect(await count("once")).toEqual({ events: 3, last: 3, jobs: 3 });
  });
});
