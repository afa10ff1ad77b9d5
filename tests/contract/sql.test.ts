import { openPlatform } from "#platform";
import { sqlActor, sqlInside, type RunSqlCase } from "../cases/sql.ts";
import { runSuite } from "../cases/suite.ts";

runSuite<RunSqlCase>(sqlInside, async () => {
  const platform = await openPlatform();
  platform.actors.define(sqlActor);
  return {
    platform,
    subject: (name) => platform.actors.get(sqlActor.name, "one").call("run", name),
  };
});
