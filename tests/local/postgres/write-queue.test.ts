import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import type { Statement } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { sqlActor } from "../../cases/sql.ts";
import { asAdmin, describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";

const insert = (id: string): Statement => ({
  sql: "INSERT INTO t_items (actor, id, n) VALUES ('a', ?, 0)",
  params: [id],
});
const owners = Array.from({ length: 20 }, (_, n) => `owner ${n}`);

await describeOnPostgres("writes of several owners", () => {
  let url = "";
  let db: PostgresDatabase;
  beforeAll(async () => {
    url = await freshDatabase();
    db = await openPostgres({ url, log: () => undefined });
    await migrateTables(db.session, sqlActor);
  });
  beforeEach(async () => {
    await db.sqlOf("").batch([{ sql: "DELETE FROM t_items" }]);
  });
  afterAll(() => db.close());

  const transactions = async (): Promise<unknown> => {
    const [row] = await asAdmin(url, "SELECT COUNT(DISTINCT xmin::text)::int AS n FROM t_items");
    return row?.["n"];
  };

  it("at one time share a transaction, whatever their names", async () => {
    await Promise.all(owners.map((owner) => db.sqlOf(owner).batch([insert(owner)])));
    expect(await transactions()).toBe(1);
  });

  it("of one turn of the event loop share a transaction, however long the turn takes", async () => {
    const slowly = (owner: string): Promise<unknown> => {
      const write = db.sqlOf(owner).batch([insert(owner)]);
      for (const begun = performance.now(); performance.now() - begun < 20;);
      return write;
    };
    await Promise.all(owners.slice(0, 3).map(slowly));
    expect(await transactions()).toBe(1);
  });

  const many = (owner: string): Promise<unknown> =>
    db.sqlOf(owner).batch(Array.from({ length: 250 }, (_, n) => insert(`${owner} ${n}`)));

  it("do not wait for a batch of many statements", async () => {
    const writes = owners.map((owner) => db.sqlOf(owner).batch([insert(owner)]));
    await Promise.all([...writes, many("many")]);
    expect(await transactions()).toBe(2);
  });

  it("of many statements are shared among the connections", async () => {
    await Promise.all(owners.slice(0, 4).map(many));
    expect(await transactions()).toBe(4);
  });

  it("do not wait for one that takes long; later ones of its owner do", async () => {
    await db.sqlOf("a").batch([insert("locked")]);
    const lock = Promise.withResolvers<undefined>();
    const holding = Promise.withResolvers<undefined>();
    const holder = db.session(async (session) => {
      await session.all("SELECT 1 FROM t_items WHERE id = 'locked' FOR UPDATE");
      holding.resolve(undefined);
      await lock.promise;
    });
    await holding.promise;
    const ended: string[] = [];
    const write = async (owner: string, statement: Statement): Promise<void> => {
      await db.sqlOf(owner).batch([statement]);
      ended.push(statement.sql.slice(0, 6));
    };
    const first = write("slow", { sql: "UPDATE t_items SET n = 1 WHERE id = 'locked'" });
    const WAITS = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > INTERVAL '50 ms'`;
    await eventually(async () => (await asAdmin(url, WAITS)).length > 0, "it waits for the lock");
    const second = write("slow", insert("later"));
    await Promise.all(owners.map((owner) => db.sqlOf(owner).batch([insert(owner)])));
    expect(ended).toEqual([]);
    lock.resolve(undefined);
    await Promise.all([holder, first, second]);
    expect(ended).toEqual(["UPDATE", "INSERT"]);
  });
});
