import { describe, it } from "vitest";
import { openPlatform } from "#platform";
import { actorsSuite } from "../../cases/actors.ts";
import { sqlActor, sqlInside, type RunSqlCase } from "../../cases/sql.ts";
import { runSuite } from "../../cases/suite.ts";
import { freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

const lacks = await lacksPostgres();
const skipped = (): string | null => lacks ?? null;

describe.skipIf(lacks !== undefined)("a platform on PostgreSQL", () => {
  runSuite(
    actorsSuite,
    async () => {
      const database = await freshDatabase();
      const platform = await openPlatform({ database });
      return { platform, subject: { platform, reopen: () => openPlatform({ database }) } };
    },
    skipped,
  );
  runSuite<RunSqlCase>(
    sqlInside,
    async () => {
      const platform = await openPlatform({ database: await freshDatabase() });
      platform.actors.define(sqlActor);
      return {
        platform,
        subject: (name) => platform.actors.get(sqlActor.name, "one").call("run", name),
      };
    },
    skipped,
  );
});

it.runIf(lacks !== undefined)("PostgreSQL", ({ skip }) => skip(lacks));
