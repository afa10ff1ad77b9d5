import { openPlatform } from "#platform";
import type { ActorKind } from "../../core/ports.ts";
import { sqlSchema, sqlSuite } from "../cases/sql.ts";
import { runSuite } from "../cases/suite.ts";

// Only an actor is given a database: the suite runs inside one.
const subject: ActorKind = {
  name: "sql-suite",
  schema: sqlSchema,
  start: ({ sql }) => ({
    methods: { run: (name: string) => sqlSuite.cases.find((one) => one.name === name)?.run(sql) },
  }),
};

const inside = {
  ...sqlSuite,
  cases: sqlSuite.cases.map(({ name }) => ({
    name,
    run: (run: (name: string) => Promise<unknown>) => run(name).then(() => undefined),
  })),
};

runSuite<(name: string) => Promise<unknown>>(inside, async () => {
  const platform = await openPlatform();
  platform.actors.define(subject);
  return {
    platform,
    subject: (name) => platform.actors.get(subject.name, "one").call("run", name),
  };
});
