import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { openPlatform } from "#platform";
import { host } from "../../config/shared.ts";
import { LONG } from "../../cases/eventually.ts";
import { describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";
import { sameSearch } from "../../fakes/search-same.ts";
import { exitOf, lineWith, start } from "../runtimes.ts";

const onSqlite = async (): Promise<string> => {
  const platform = await openPlatform();
  try {
    const search = sameSearch(platform);
    await search.seed();
    await search.change();
    return await search.answers();
  } finally {
    await platform.close();
  }
};

await describeOnPostgres("search on PostgreSQL", () => {
  it("answers byte for byte as on SQLite, by keywords and vectors", async () => {
    const platform = await openPlatform({ database: await freshDatabase() });
    onTestFinished(() => platform.close());
    const search = sameSearch(platform);
    await search.seed();
    await search.change();
    const answers = await search.answers();
    expect(answers).toContain("Cats sleep on warm roofs");
    expect(answers).not.toContain("thatch");
    expect(answers).toBe(await onSqlite());
  });

  it("answers the same at the next server when its server is killed", LONG, async () => {
    const database = await freshDatabase();
    const dataDir = mkdtempSync(join(inject("scratch"), "search-node-"));
    const child = start(host, "search-node-child.ts", [host, database, dataDir]);
    onTestFinished(() => void child.kill("SIGKILL"));
    const line = await lineWith(child, "answers ");
    child.kill("SIGKILL");
    await exitOf(child);
    const platform = await openPlatform({ database, cluster: { leaseMs: 1000 } });
    onTestFinished(() => platform.close());
    expect(await sameSearch(platform).answers()).toBe(JSON.parse(line.slice("answers ".length)));
  });
});
