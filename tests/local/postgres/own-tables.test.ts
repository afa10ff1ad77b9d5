import { expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../core/agents/mod.ts";
import { describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";

const keeper = defineAgent({
  name: "Keeper",
  schema: [
    "CREATE TABLE keeper_Notes (actor TEXT NOT NULL, text TEXT NOT NULL)",
    "CREATE TABLE keeper_common (text TEXT NOT NULL)",
  ],
  schedules: { tick: "0 3 * * *" },
  tasks: { tick: () => undefined },
  async onRequest(agent, request) {
    if (request.method === "DELETE") await agent.destroy();
    if (request.method === "POST") {
      await agent.sql`INSERT INTO keeper_notes (actor, text) VALUES (${agent.key}, ${"mine"})`;
      await agent.sql`INSERT INTO keeper_common (text) VALUES (${"ours"})`;
    }
    const notes = await agent.sql`SELECT text FROM keeper_notes WHERE actor = ${agent.key}`;
    const common = await agent.sql`SELECT text FROM keeper_common`;
    return Response.json([notes.length, common.length]);
  },
});

await describeOnPostgres("an agent on PostgreSQL", () => {
  it("loses the rows of its own tables when it is destroyed, and no other's", async () => {
    const platform = await openPlatform({ database: await freshDatabase() });
    const app = agents({ platform, auth: "off", agents: [keeper] });
    const ask = async (method: string, name: string): Promise<unknown> =>
      (await app.request(`/keeper/${name}`, { method })).json();
    expect(await ask("POST", "a")).toEqual([1, 1]);
    expect(await ask("POST", "b")).toEqual([1, 2]);
    expect(await ask("DELETE", "a")).toEqual([0, 2]);
    expect(await ask("GET", "b")).toEqual([1, 2]);
    await platform.close();
  });
});
