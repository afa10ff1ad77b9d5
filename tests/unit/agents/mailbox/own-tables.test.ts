import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";

/** Tables in every form in which a step may make, change or remove them. */
const collector = defineAgent({
  name: "Collector",
  schema: [
    "CREATE TABLE collector_plain (actor TEXT, n INTEGER)",
    'create table if not exists collector_lower(n INTEGER, "actor" TEXT)',
    'CREATE TABLE "collector ""odd" (actor TEXT); CREATE INDEX collector_i ON "collector ""odd" (actor)',
    "CREATE TABLE collector_common (n INTEGER /* no actor */, word TEXT DEFAULT 'actor') -- actor",
    "CREATE TABLE collector_later (n INTEGER); ALTER TABLE collector_later ADD COLUMN actor TEXT",
    "CREATE TABLE collector_gone (actor TEXT)",
    "DROP TABLE IF EXISTS collector_gone",
    "CREATE TABLE collector_before (actor TEXT)",
    "ALTER TABLE collector_before RENAME TO collector_after",
    "CREATE TABLE collector_lost (actor TEXT, n INTEGER)",
    "ALTER TABLE collector_lost RENAME COLUMN actor TO who",
    // The runtime's own tables are named only to read them.
    "CREATE VIEW collector_events AS SELECT * FROM agents_events",
  ],
  async onRequest(agent, request) {
    const rows = async (): Promise<number[]> => {
      const counts = [
        await agent.sql`SELECT COUNT(*) AS n FROM collector_plain`,
        await agent.sql`SELECT COUNT(*) AS n FROM collector_lower`,
        await agent.sql`SELECT COUNT(*) AS n FROM "collector ""odd"`,
        await agent.sql`SELECT COUNT(*) AS n FROM collector_later`,
        await agent.sql`SELECT COUNT(*) AS n FROM collector_after`,
        await agent.sql`SELECT COUNT(*) AS n FROM collector_common`,
        await agent.sql`SELECT COUNT(*) AS n FROM collector_lost`,
        await agent.sql`SELECT COUNT(*) AS n FROM agents_events WHERE actor = ${agent.key}`,
      ];
      return counts.map(([row]) => Number(row?.["n"]));
    };
    if (request.method === "POST") {
      await agent.sql`INSERT INTO collector_plain (actor) VALUES (${agent.key})`;
      await agent.sql`INSERT INTO collector_lower (actor) VALUES (${agent.key})`;
      await agent.sql`INSERT INTO "collector ""odd" (actor) VALUES (${agent.key})`;
      await agent.sql`INSERT INTO collector_later (actor) VALUES (${agent.key})`;
      await agent.sql`INSERT INTO collector_after (actor) VALUES (${agent.key})`;
      await agent.sql`INSERT INTO collector_common (n) VALUES (1)`;
      await agent.sql`INSERT INTO collector_lost (who) VALUES (${agent.key})`;
      // Another instance's event, which this one has caused.
      await agent.sql`INSERT INTO agents_events (agent, seq, provider, id, type, title, actor, timestamp, headers)
        VALUES (${"other"}, 1, ${"p"}, ${"1"}, ${"t"}, ${"t"}, ${agent.key}, ${"2026"}, ${"{}"})`;
    }
    if (request.method === "DELETE") await agent.destroy();
    return Response.json(await rows());
  },
});

const keeper = defineAgent({
  name: "Keeper",
  schema: [
    "CREATE TABLE keeper_notes (actor TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE TABLE keeper_common (text TEXT NOT NULL)",
  ],
  async onRequest(agent, request) {
    if (request.method === "DELETE") await agent.destroy();
    if (request.method === "POST") {
      await agent.sql`INSERT INTO keeper_notes (actor, text) VALUES (${agent.key}, ${"mine"})`;
      await agent.sql`INSERT INTO keeper_common (text) VALUES (${"ours"})`;
    }
    const notes = await agent.sql`SELECT text FROM keeper_notes WHERE actor = ${agent.key}`;
    const common = await agent.sql`SELECT text FROM keeper_common`;
    return Response.json([notes.length, common.length > 0]);
  },
});

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform.close());

describe("destroy()", () => {
  it("deletes the instance's rows of tables of its own, no other's, and it can be used again", async () => {
    const app = agents({ platform, auth: "off", agents: [keeper, collector] });
    const ask = async (method: string, name: string): Promise<unknown> =>
      (await app.request(`/keeper/${name}`, { method })).json();
    expect(await ask("POST", "a")).toEqual([1, true]);
    expect(await ask("POST", "b")).toEqual([1, true]);
    expect(await ask("DELETE", "a")).toEqual([0, true]);
    expect(await ask("GET", "b")).toEqual([1, true]);
    expect(await ask("POST", "a")).toEqual([1, true]);
  });

  it("finds the tables with an actor column in the database, however the steps are written", async () => {
    const app = agents({ platform, auth: "off", agents: [keeper, collector] });
    const ask = async (method: string): Promise<unknown> =>
      (await app.request("/collector/a", { method })).json();
    expect(await ask("POST")).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    expect(await ask("DELETE")).toEqual([0, 0, 0, 0, 0, 1, 1, 1]);
  });
});
