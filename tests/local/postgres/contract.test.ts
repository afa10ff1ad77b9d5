import { openPlatform } from "#platform";
import { actorsSuite } from "../../cases/actors.ts";
import { sqlActor, sqlInside, type RunSqlCase } from "../../cases/sql.ts";
import { runSuite } from "../../cases/suite.ts";
import { describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";

await describeOnPostgres("a platform on PostgreSQL", () => {
  runSuite(actorsSuite, async () => {
    const database = await freshDatabase();
    const platform = await openPlatform({ database });
    return { platform, subject: { platform, reopen: () => openPlatform({ database }) } };
  });
  runSuite<RunSqlCase>(sqlInside, async () => {
    const platform = await openPlatform({ database: await freshDatabase() });
    platform.actors.define(sqlActor);
    return {
      platform,
      subject: (name) => platform.actors.get(sqlActor.name, "one").call("run", name),
    };
  });
});
