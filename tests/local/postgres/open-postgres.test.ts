import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import type { Statement } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { eventually } from "../../cases/eventually.ts";
import { sqlActor, sqlSuite } from "../../cases/sql.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

const lacks = await lacksPostgres();
let url = "";
let db: PostgresDatabase;
const lines: string[] = [];

beforeAll(async () => {
  if (lacks !== undefined) return;
  // Another order than that of bytes, as databases of a country have it.
  url = await freshDatabase("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'");
  db = await openPostgres({ url, log: (_, line) => lines.push(line), waitMs: 1500 });
  const slots = "CREATE TABLE t_slots (slot INTEGER PRIMARY KEY, epoch INTEGER NOT NULL)";
  await migrateTables(db.session, { ...sqlActor, schema: [...sqlActor.schema, slots] });
});

beforeEach(async ({ skip }) => {
  if (lacks !== undefined) return skip(lacks);
  lines.length = 0;
  await db.sqlOf("").batch([{ sql: "DELETE FROM t_items" }, { sql: "DELETE FROM t_other" }]);
});

afterAll(async () => {
  if (lacks === undefined) await db.close();
});

const insert = (id: string, n: number | null = null): Statement => ({
  sql: "INSERT INTO t_items (actor, id, n) VALUES ('a', ?, ?)",
  params: [id, n],
});

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "no error",
    (error: unknown) => (error instanceof SqlError ? error.reason : String(error)),
  );

async function ids(): Promise<unknown[]> {
  const rows = await db.sqlOf("a").all("SELECT id FROM t_items ORDER BY id");
  return rows.map((row) => row["id"]);
}

describe("the Sql contract", () => {
  for (const one of sqlSuite.cases) it(one.name, () => one.run(db.sqlOf("a")));
});

describe("texts", () => {
  it("come back with U+0000 and U+0001 in them, and keep the order of their bytes", async () => {
    const texts = [
      "",
      "\0",
      "\0\0a",
      "\0b",
      "\u0001",
      "\u0001\0",
      "\u0001\u0001",
      "\u0002",
      "B",
      "a",
      "é",
    ];
    await db.sqlOf("a").batch(texts.toReversed().map((text) => insert(text)));
    expect(await ids()).toEqual(texts);
    const [row] = await db.sqlOf("a").all("SELECT id FROM t_items WHERE id = ?", ["\0b"]);
    expect(row?.["id"]).toBe("\0b");
  });
});

describe("a fence", () => {
  const fence = (slot: number, epoch: number) => ({
    key: `${slot} ${epoch}`,
    statement: {
      sql: "SELECT 1 AS held FROM t_slots WHERE slot = ? AND epoch = ? FOR SHARE",
      params: [slot, epoch],
    },
  });

  it("refuses the batches of who has lost what it owned, and of nobody else", async () => {
    await db
      .sqlOf("")
      .batch([
        { sql: "DELETE FROM t_slots" },
        { sql: "INSERT INTO t_slots (slot, epoch) VALUES (1, 7), (2, 3)" },
      ]);
    // The same name: all three wait in one queue.
    const [held, lost, free] = [
      db.sqlOf("x", fence(1, 7)),
      db.sqlOf("x", fence(2, 2)),
      db.sqlOf("x"),
    ];
    const reasons = await Promise.all([
      reasonOf(held.batch([insert("held")])),
      reasonOf(lost.batch([insert("lost")])),
      reasonOf(free.batch([insert("free")])),
    ]);
    expect(reasons).toEqual(["no error", "fenced", "no error"]);
    expect(await ids()).toEqual(["free", "held"]);
  });
});

describe("a connection that breaks", () => {
  const OTHERS =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

  it("leaves nothing of a batch, which is made again: once", async () => {
    const add: Statement = {
      sql: "INSERT INTO t_other (actor, id) VALUES ('a', ?)",
      params: ["x"],
    };
    const big = Array.from({ length: 20_000 }, () => add);
    const work = reasonOf(db.sqlOf("a").batch(big));
    for (let n = 0; n < 4; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      await asAdmin(url, OTHERS);
    }
    expect(await work).toBe("no error");
    const [row] = await db.sqlOf("a").all("SELECT COUNT(*) AS n FROM t_other");
    expect(row?.["n"]).toBe(20_000);
  });

  it("is another one for the next statement, whatever they were for", async () => {
    await db.sqlOf("a").batch([insert("before")]);
    await ids();
    await asAdmin(url, OTHERS);
    expect(await reasonOf(db.sqlOf("a").batch([insert("after")]))).toBe("no error");
    expect(await ids()).toEqual(["after", "before"]);
  });

  it("is waited for, but not for long; the reason is told, and it is over by itself", async () => {
    const name = new URL(url).pathname.slice(1);
    const admin = url.replace(/[^/]*$/u, "postgres");
    await asAdmin(admin, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await asAdmin(admin, OTHERS.replace("current_database()", `'${name}'`));
    const sql = db.sqlOf("a");
    expect(await Promise.all([reasonOf(sql.batch([insert("x")])), reasonOf(ids())])).toEqual([
      "busy",
      "busy",
    ]);
    expect(db.failure()).toMatch(/^no connection \(\w+\)$/u);
    await asAdmin(admin, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await eventually(() => db.failure() === null, "the database is used again");
    expect(await ids()).toEqual([]);
    expect(lines).toEqual([
      "The database cannot be used: what needs it is answered 503",
      "The database can be used again",
    ]);
  });
});

describe("work that waits", () => {
  it("does not hold up a query of the same turn of the event loop", async () => {
    await db.sqlOf("a").batch([insert("locked")]);
    const sql = db.sqlOf("a");
    let waiting: Promise<unknown> | undefined;
    await db.session(async (session) => {
      await session.all("SELECT id FROM t_items FOR UPDATE");
      waiting = sql.all("SELECT id FROM t_items FOR UPDATE");
      expect(await sql.all("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    });
    expect(await waiting).toHaveLength(1);
  });

  it("is bounded in number and in time", async () => {
    const small = await openPostgres({ url, log: () => undefined, queueSize: 3, answerMs: 3000 });
    try {
      const sql = small.sqlOf("a");
      const batches = ["p", "q", "r", "s"].map((id) => reasonOf(sql.batch([insert(id)])));
      expect(await Promise.all(batches)).toEqual(["no error", "no error", "no error", "busy"]);
      const queries = [1, 2, 3, 4].map(() => reasonOf(sql.all("SELECT 1")));
      expect(await Promise.all(queries)).toEqual(["no error", "no error", "no error", "busy"]);
      expect(await reasonOf(sql.all("SELECT pg_sleep(60)"))).toBe("busy");
      expect(await reasonOf(sql.batch([{ sql: "SELECT pg_sleep(?)", params: [60] }]))).toBe("busy");
      expect(await reasonOf(sql.all("SELECT 1"))).toBe("no error");
    } finally {
      await small.close();
    }
  });
});

describe("a database that cannot be used is refused in one line", () => {
  const refusal = (address: string): Promise<string> =>
    openPostgres({ url: address, log: () => undefined, connectMs: 2000 }).then(
      async (opened) => {
        await opened.close();
        return "opened";
      },
      (error: unknown) => (error instanceof Error ? error.message : ""),
    );
  const other = (change: (address: URL) => void): string => {
    const address = new URL(url);
    change(address);
    return address.href;
  };
  const place = (): string => `${new URL(url).host}${new URL(url).pathname}`;

  it("which names neither the login nor the password", async () => {
    const address = other((one) => (one.password = "wrong-secret"));
    expect(await refusal(address)).toBe(
      `The database at ${place()} cannot be used: it refuses the login: check user and password in the address, and pg_hba.conf`,
    );
  });

  it("when it is not there, or nothing listens, or the address is none", async () => {
    expect(await refusal(other((one) => (one.pathname = "/nowhere")))).toMatch(
      "create it with CREATE DATABASE",
    );
    expect(await refusal(other((one) => (one.port = "1")))).toMatch("nothing listens there");
    expect(await refusal(other((one) => (one.hostname = "no-such-host.invalid")))).toMatch(
      "its host is not found",
    );
    for (const password of ["se/cret", "se%cret"]) {
      const said = await refusal(url.replace(/:[^:@]*@/u, `:${password}@`));
      expect(said).toMatch('write "/" in a password as %2F');
      expect(said).not.toContain("cret@");
    }
    expect(await refusal(`${url}?sslmode=require`)).toMatch("check port and sslmode");
    expect(await refusal("mysql://a:secret@b/c")).toMatch('begins with "postgres://"');
  });

  it("when it holds another application's tables, or has another encoding, or may not be changed", async () => {
    const [foreign, latin, bare] = [
      await freshDatabase(),
      await freshDatabase("TEMPLATE template0 ENCODING 'LATIN1'"),
      await freshDatabase(),
    ];
    await asAdmin(foreign, "CREATE TABLE users (id INT)");
    expect(await refusal(foreign)).toMatch('tables of another application, such as "users"');
    expect(await refusal(latin)).toMatch("its encoding is LATIN1");
    const role = `reader_${crypto.randomUUID().slice(0, 8)}`;
    await asAdmin(bare, `CREATE ROLE ${role} LOGIN PASSWORD 'pw'`);
    const login = new URL(bare);
    [login.username, login.password] = [role, "pw"];
    await asAdmin(bare, `REVOKE CONNECT ON DATABASE ${login.pathname.slice(1)} FROM PUBLIC`);
    expect(await refusal(login.href)).toMatch("GRANT CONNECT ON DATABASE");
    await asAdmin(bare, `GRANT CONNECT ON DATABASE ${login.pathname.slice(1)} TO ${role}`);
    expect(await refusal(login.href)).toMatch(`GRANT CREATE ON SCHEMA "public" TO "${role}"`);
  });
});
