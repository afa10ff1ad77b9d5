import { expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { ActorKind, Platform } from "../../../core/ports.ts";
import type { SchemaStep } from "../../../core/sql/schema-step.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { asAdmin, describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";

const NAMES = Array.from({ length: 12 }, (_, n) => `actor-${n}`);
const table: SchemaStep =
  "CREATE TABLE t_ledger (actor TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (actor, n))";
const additive: SchemaStep = {
  additive: "ALTER TABLE t_ledger ADD COLUMN note TEXT DEFAULT 'none'",
};
const changing: SchemaStep = "ALTER TABLE t_ledger RENAME COLUMN note TO remark";

/** An actor of a version with these steps: it returns the last number before and after. Its statements read all columns that there are. */
const ledger = (schema: readonly SchemaStep[]): ActorKind => ({
  name: "ledger",
  schema,
  start: ({ name, sql }) => ({
    methods: {
      async add(n: number) {
        const read = {
          sql: "SELECT * FROM t_ledger WHERE actor = ? ORDER BY n DESC LIMIT 1",
          params: [name],
        };
        const write = { sql: "INSERT INTO t_ledger (actor, n) VALUES (?, ?)", params: [name, n] };
        const [before] = await sql.all(read.sql, read.params);
        const [, after] = await sql.batch([write, read]);
        return [Number(before?.["n"] ?? -1), Number(after?.rows[0]?.["n"] ?? -1)];
      },
    },
  }),
});

async function node(database: string, ...schema: readonly SchemaStep[]): Promise<Platform> {
  // On a busy machine the calls under way of a node that ends take seconds.
  const platform = await openPlatform({ database, closeGraceMs: 20_000 });
  platform.actors.define(ledger(schema));
  return platform;
}

/** Makes a call. One whose write was refused, because the actor had moved meanwhile, is made again. */
async function add(platform: Platform, name: string, n: number): Promise<unknown> {
  for (;;) {
    try {
      return await platform.actors.get("ledger", name).call("add", n);
    } catch (error) {
      if (!(error instanceof SqlError && error.reason === "fenced")) throw error;
    }
  }
}

const living = (database: string): Promise<readonly Record<string, unknown>[]> =>
  asAdmin(database, "SELECT id FROM causey_nodes WHERE expires > now()");

await describeOnPostgres("nodes of two versions on one PostgreSQL", () => {
  it(
    "go on beside an additive step, in both directions, and each call counts once",
    LONG,
    async () => {
      const database = await freshDatabase();
      const old = await node(database, table);
      await old.actors.ready?.();
      const load = { nodes: [old], isOver: false };
      const counts = NAMES.map(async (name) => {
        let n = 0;
        for (; !load.isOver; n += 1)
          expect(await add(load.nodes[n % load.nodes.length]!, name, n)).toEqual([n - 1, n]);
        return n;
      });
      const newer = await node(database, table, additive);
      await newer.actors.ready?.();
      await eventually(async () => (await living(database)).length === 2, "both versions live");
      // One of before that starts again, as after a crash or a way back.
      const again = await node(database, table);
      await again.actors.ready?.();
      await eventually(async () => (await living(database)).length === 3, "all three live");
      load.nodes = [newer, again];
      await old.close();
      load.nodes = [newer];
      await again.close();
      await new Promise((resolve) => setTimeout(resolve, 200));
      load.isOver = true;
      const made = await Promise.all(counts);
      const rows = await asAdmin(
        database,
        "SELECT actor, COUNT(*)::int AS n, COUNT(DISTINCT n)::int AS numbers FROM t_ledger GROUP BY actor",
      );
      for (const [at, n] of made.entries())
        expect(rows.find(({ actor }) => actor === NAMES[at])).toMatchObject({ n, numbers: n });
      await newer.close();
    },
  );

  it(
    "make no other step while another node lives, and an older one refuses it afterwards",
    LONG,
    async () => {
      const database = await freshDatabase();
      const old = await node(database, table, additive);
      await old.actors.ready?.();
      await eventually(async () => (await living(database)).length === 1, "it has joined");
      const early = await node(database, table, additive, changing);
      await expect(early.actors.ready?.()).rejects.toThrow(
        /^The tables of "ledger" cannot be changed while other servers use them: stop 127\.0\.0\.1:\d+ \(.+\), then start this one again/u,
      );
      expect(early.actors.failure?.()).toMatch(/another version/u);
      const reason = (await early.actors.nodes?.refused) ?? "";
      expect(reason).toMatch(/^The tables of "ledger" cannot be changed/u);
      const listed = (await old.actors.nodes?.list()) ?? [];
      expect(listed.map(({ lives, refusal }) => [lives, refusal])).toEqual(
        expect.arrayContaining([
          [true, null],
          [false, reason],
        ]),
      );
      await expect(add(early, "a", 1)).rejects.toMatchObject({ status: 503 });
      expect(await add(old, "a", 1)).toEqual([-1, 1]);
      expect(await living(database)).toHaveLength(1);
      await Promise.all([old.close(), early.close()]);
      const newer = await node(database, table, additive, changing);
      expect(await add(newer, "a", 2)).toEqual([1, 2]);
      const late = await node(database, table, additive);
      await expect(late.actors.ready?.()).rejects.toThrow(
        /"ledger" at schema step 3 and this version .* knows 2: start causey .* or newer/u,
      );
      await expect(add(late, "a", 3)).rejects.toMatchObject({ status: 503 });
      expect(await living(database)).toHaveLength(1);
      await Promise.all([newer.close(), late.close()]);
    },
  );

  it("need each step of a database that was made before steps had marks", async () => {
    const database = await freshDatabase();
    const first = await node(database, table, additive);
    await first.actors.ready?.();
    await first.close();
    await asAdmin(database, "ALTER TABLE causey_schema DROP COLUMN needs, DROP COLUMN version");
    const older = await node(database, table);
    await expect(older.actors.ready?.()).rejects.toThrow(/start the version that wrote it/u);
    await older.close();
  });
});
