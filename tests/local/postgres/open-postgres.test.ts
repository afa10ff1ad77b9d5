import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { joinStatements } from "../../../adapters/postgres/joined-statements.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import type { SqlRow, SqlValue, Statement } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { lockRows } from "../../../core/sql/sql-text.ts";
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
  const labels =
    "CREATE TABLE t_labels (actor TEXT NOT NULL, id TEXT NOT NULL, n INTEGER, label TEXT, PRIMARY KEY (actor, id))";
  await migrateTables(db.session, { ...sqlActor, schema: [...sqlActor.schema, labels] });
});

beforeEach(async ({ skip }) => {
  if (lacks !== undefined) return skip(lacks);
  const tables = ["t_items", "t_other", "t_labels"];
  await db.sqlOf("").batch(tables.map((table) => ({ sql: `DELETE FROM ${table}` })));
  // After it: on a busy machine it is the first statement that a test with broken connections leaves to succeed.
  lines.length = 0;
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

describe("a fence", () => {
  it("refuses the batches of who has lost what it owned, and of nobody else", async () => {
    await db
      .sqlOf("")
      .batch([{ sql: "UPDATE causey_slots SET epoch = slot + 6 WHERE slot IN (1, 2)" }]);
    // The same name: all three wait in one queue.
    const [held, lost, free] = [
      db.sqlOf("x", { slot: 1, epoch: 7 }),
      db.sqlOf("x", { slot: 2, epoch: 7 }),
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

describe("equal statements of a batch", () => {
  const put = (id: string, label: SqlValue, n: SqlValue = null): Statement => ({
    sql: "INSERT INTO t_labels (actor, id, n, label) VALUES (?, ?, ?, ?) ON CONFLICT (actor, id) DO NOTHING",
    params: ["a", id, n, label],
  });
  const kept = async (): Promise<unknown[]> => {
    const rows = await db.sqlOf("a").all("SELECT id FROM t_labels ORDER BY id");
    return rows.map((row) => row["id"]);
  };
  /** Counts the statements that reach the table meanwhile. */
  async function counted(work: () => Promise<unknown>): Promise<unknown> {
    const counts = "CREATE TABLE t_statements (n INTEGER)";
    const note = `CREATE FUNCTION t_note() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO t_statements VALUES (1); RETURN NULL; END $$`;
    const trigger =
      "CREATE TRIGGER t_note AFTER INSERT ON t_labels FOR EACH STATEMENT EXECUTE FUNCTION t_note()";
    for (const sql of [counts, note, trigger]) await asAdmin(url, sql);
    try {
      await work();
      const [row] = await asAdmin(url, "SELECT COUNT(*)::int AS n FROM t_statements");
      return row?.["n"];
    } finally {
      await asAdmin(url, "DROP FUNCTION t_note CASCADE");
      await asAdmin(url, "DROP TABLE t_statements");
    }
  }

  it("store what each alone would store", async () => {
    const labels = [
      "",
      null,
      "\0\u0001",
      '"\\\n',
      "\ud83d",
      "😀",
      "null",
      "{}",
      "[1]",
      "\u007f\u2028",
    ];
    const numbers = [0, -1, Number.MAX_SAFE_INTEGER, null, 7n, Number.MIN_SAFE_INTEGER];
    const both: SqlRow[][] = [];
    for (const size of [1, labels.length]) {
      await db.sqlOf("a").batch([{ sql: "DELETE FROM t_labels" }]);
      const puts = labels.map((label, at) => put(String(at), label, numbers[at] ?? null));
      for (let at = 0; at < puts.length; at += size)
        await db.sqlOf("a").batch(puts.slice(at, at + size));
      both.push(await db.sqlOf("a").all("SELECT * FROM t_labels ORDER BY id"));
    }
    expect(both[1]).toEqual(both[0]);
    expect(both[1]?.map((row) => row["label"])).toEqual(
      labels.map((one) => one?.toWellFormed() ?? null),
    );
  });

  it("say of each whether its row was there", async () => {
    await db.sqlOf("a").batch([put("b", "old")]);
    const results = await db.sqlOf("a").batch([put("a", "1"), put("b", "2"), put("c", "3")]);
    expect(results.map(({ changes }) => changes)).toEqual([1, 0, 1]);
    const twice = await db.sqlOf("a").batch([put("d", "1"), put("d", "2")]);
    expect(twice.map(({ changes }) => changes)).toEqual([1, 0]);
  });

  it("are one statement up to 4 MiB", async () => {
    const few = counted(() => db.sqlOf("a").batch(["a", "b", "c"].map((id) => put(id, id))));
    expect(await few).toBe(1);
    const long = "x".repeat(3 * 1024 * 1024);
    expect(await counted(() => db.sqlOf("a").batch([put("d", long), put("e", long)]))).toBe(2);
    expect(await kept()).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("fail for their batch alone, with the error of the one that fails", async () => {
    const name = (id: string): Statement => ({
      sql: "INSERT INTO t_labels (actor, id) VALUES (?, ?)",
      params: ["a", id],
    });
    await db.sqlOf("a").batch([name("b")]);
    const reasons = await Promise.all([
      reasonOf(db.sqlOf("a").batch([name("a")])),
      reasonOf(db.sqlOf("a").batch([name("c"), name("b")])),
      reasonOf(db.sqlOf("a").batch([name("d"), name("e")])),
      reasonOf(db.sqlOf("a").batch([put("f", "f"), put("g", "g", "none")])),
      reasonOf(db.sqlOf("a").batch([put("h", "h"), put("i", {} as SqlValue)])),
    ]);
    expect(reasons).toEqual(["no error", "constraint", "no error", "invalid", "invalid"]);
    expect(await kept()).toEqual(["a", "b", "d", "e"]);
  });

  it("lock all their rows first, in one order: two processes then do not wait for each other", async () => {
    await db.sqlOf("a").batch(["a", "b", "\0"].map((id) => put(id, id)));
    const other = await openPostgres({ url, log: () => undefined });
    const lock = (id: string): Statement[] => [
      ...lockRows({ dialect: "postgres" }, "t_labels", "id", id),
      { sql: "UPDATE t_labels SET n = COALESCE(n, 0) + 1 WHERE id = ?", params: [id] },
    ];
    const rounds = Array.from({ length: 20 }, async () =>
      Promise.all([
        db.sqlOf("a").batch([...lock("b"), ...lock("a"), ...lock("\0")]),
        other.sqlOf("a").batch([...lock("\0"), ...lock("a"), ...lock("b")]),
      ]),
    );
    await Promise.all(rounds);
    await other.close();
    expect(await db.sqlOf("a").all("SELECT DISTINCT n FROM t_labels")).toEqual([{ n: 40 }]);
    const stands = joinStatements([...lock("b"), ...lock("a")]).map((one) => one.stands);
    expect(stands).toEqual([[0, 2], [1], [3]]);
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
