import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import { ownTables } from "../../../../core/agents/handlers/own-tables.ts";
import type { Platform } from "../../../../core/ports.ts";

describe("ownTables()", () => {
  it("finds what was created with an actor column and is still there, however it is written", () => {
    const steps = [
      "CREATE TABLE plain (actor TEXT, n INTEGER)",
      'create table if not exists Lower(n INTEGER, "actor" TEXT)',
      'CREATE TABLE "odd ""name" (actor TEXT); CREATE INDEX odd_i ON "odd ""name" (actor)',
      "CREATE VIRTUAL TABLE texts USING fts5(body, actor UNINDEXED)",
      "CREATE TABLE common (n INTEGER /* no actor */, word TEXT DEFAULT 'actor') -- actor",
      "CREATE TABLE later (n INTEGER); ALTER TABLE later ADD COLUMN actor TEXT",
      "CREATE TABLE gone (actor TEXT)",
      "DROP TABLE IF EXISTS gone",
      "CREATE TABLE before (actor TEXT)",
      "ALTER TABLE BEFORE RENAME TO after",
      "CREATE TABLE lost (actor TEXT, n INTEGER)",
      "ALTER TABLE lost RENAME COLUMN actor TO who",
    ];
    expect(ownTables(steps)).toEqual(["plain", "Lower", '"odd ""name"', "texts", "later", "after"]);
    expect(ownTables([])).toEqual([]);
  });
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
    const app = agents({ platform, auth: "off", agents: [keeper] });
    const ask = async (method: string, name: string): Promise<unknown> =>
      (await app.request(`/keeper/${name}`, { method })).json();
    expect(await ask("POST", "a")).toEqual([1, true]);
    expect(await ask("POST", "b")).toEqual([1, true]);
    expect(await ask("DELETE", "a")).toEqual([0, true]);
    expect(await ask("GET", "b")).toEqual([1, true]);
    expect(await ask("POST", "a")).toEqual([1, true]);
  });
});
