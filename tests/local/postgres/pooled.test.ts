import { afterAll, describe, it } from "vitest";
import { openPlatform } from "#platform";
import { actorsSuite } from "../../cases/actors.ts";
import { sqlActor, sqlInside, type RunSqlCase } from "../../cases/sql.ts";
import { runSuite } from "../../cases/suite.ts";
import { pgbouncerVersion, pooled, type Pooler } from "../../fakes/pgbouncer.ts";
import { freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

/** Fewer than a process opens: transactions of several of its connections take turns on one. */
const CONNECTIONS = 4;

const version = pgbouncerVersion();
const lacks = version === null ? "PgBouncer is not installed" : await lacksPostgres();
const poolers: Pooler[] = [];
afterAll(() => {
  for (const one of poolers) one.stop();
});

async function pooledDatabase(): Promise<string> {
  const pooler = await pooled(await freshDatabase(), version ?? [], CONNECTIONS);
  poolers.push(pooler);
  return pooler.url;
}

const suites = (): void => {
  runSuite(actorsSuite, async () => {
    const database = await pooledDatabase();
    const platform = await openPlatform({ database });
    return { platform, subject: { platform, reopen: () => openPlatform({ database }) } };
  });
  runSuite<RunSqlCase>(sqlInside, async () => {
    const platform = await openPlatform({ database: await pooledDatabase() });
    platform.actors.define(sqlActor);
    return {
      platform,
      subject: (name) => platform.actors.get(sqlActor.name, "one").call("run", name),
    };
  });
};

describe(
  "a platform on PostgreSQL behind PgBouncer in transaction mode",
  lacks === undefined
    ? suites
    : () => it("has a PgBouncer to run behind", ({ skip }) => skip(lacks)),
);
