import { existsSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { openReaders, type ReaderOptions } from "../../adapters/shared/sqlite/readers.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { eventually } from "../cases/eventually.ts";

const folder = mkdtempSync(join(inject("scratch"), "readers-"));
const quiet = (): void => undefined;
const long = "someone";
let files = 0;

interface Opened {
  readonly path: string;
  readonly db: SqliteDatabase;
}

function open(options: Partial<ReaderOptions> = {}): Opened {
  const path = join(folder, `${files++}.db`);
  return { path, db: openSqlite(path, { readers: openReaders(path, { log: quiet, ...options }) }) };
}

/** Counts to `n` in SQL: about a second for ten millions. */
const counting = (n: number): string =>
  `WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${n}) SELECT max(n) AS n FROM c`;

describe("long queries", () => {
  it("see what was committed, and have values of every kind", async () => {
    const { db } = open();
    db.exec("CREATE TABLE t (a, b, c)");
    await db.batch([
      { sql: "INSERT INTO t VALUES (?, ?, ?)", params: [1.5, "x", new Uint8Array([1, 2])] },
    ]);
    expect(await db.all("SELECT * FROM t WHERE b = ?", ["x"], { long })).toMatchObject([
      { a: 1.5, b: "x" },
    ]);
    for (let n = 0; n < 50; n++) {
      await db.batch([{ sql: "INSERT INTO t (a) VALUES (?)", params: [n] }]);
      expect(await db.all("SELECT count(*) AS n FROM t", [], { long })).toEqual([{ n: n + 2 }]);
    }
    await db.close();
  });

  it("leave the event loop to others", async () => {
    const { db } = open();
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const rows = await db.all(counting(3_000_000), [], { long });
    clearInterval(timer);
    expect(rows).toEqual([{ n: 3_000_000 }]);
    expect(turns).toBeGreaterThan(20);
    await db.close();
  });

  it("cannot write, and fail with the reason", async () => {
    const { db } = open();
    db.exec("CREATE TABLE t (a)");
    await expect(
      db.all("INSERT INTO t VALUES (1) RETURNING a", [], { long }),
    ).rejects.toMatchObject({ name: "SqlError", reason: "full" });
    await expect(db.all("SELECT * FROM nowhere", [], { long })).rejects.toMatchObject({
      name: "SqlError",
      reason: "invalid",
    });
    expect(await db.all("SELECT 1 AS n", [], { long })).toEqual([{ n: 1 }]);
    await db.close();
  });

  it("of several owners take turns", async () => {
    const { db } = open({ most: 1 });
    const done: string[] = [];
    const ask = async (owner: string): Promise<void> => {
      await db.all("SELECT 1", [], { long: owner });
      done.push(owner);
    };
    await Promise.all([...["a", "a", "a", "a", "a"].map(ask), ask("b")]);
    expect(done.indexOf("b")).toBeLessThan(3);
    await db.close();
  });

  it("above the bound are refused as busy, the others are answered", async () => {
    const { db } = open({ most: 1, waiting: 2 });
    const ask = (): Promise<unknown> => db.all("SELECT 1 AS n", [], { long });
    const settled = await Promise.allSettled([ask(), ask(), ask(), ask()]);
    expect(settled.filter(({ status }) => status === "rejected")).toMatchObject([
      { reason: { reason: "busy" } },
      { reason: { reason: "busy" } },
    ]);
    await db.close();
  });

  it("that take too long are refused as busy, waiting or not", async () => {
    const { db } = open({ most: 1, deadlineMs: 100 });
    // Until its thread is there, a query waits: the first one to be given up would leave the thread to the other.
    const isThere = (): Promise<boolean> =>
      db.all("SELECT 1", [], { long }).then(
        () => true,
        () => false,
      );
    await eventually(isThere, "a thread");
    const slow = db.all(counting(20_000_000), [], { long });
    const behind = db.all("SELECT 2 AS n", [], { long });
    expect(await Promise.allSettled([slow, behind])).toMatchObject([
      { reason: { name: "SqlError", reason: "busy" } },
      { reason: { name: "SqlError", reason: "busy" } },
    ]);
    await db.close();
  });

  it("that run are answered at the end, which leaves no file but the database", async () => {
    const { db, path } = open({ idleMs: 10 });
    db.exec("CREATE TABLE t (a)");
    await db.all("SELECT 1", [], { long });
    const running = db.all(counting(100_000), [], { long });
    // Once one query was answered, its thread has the other.
    const [rows] = await Promise.all([running, db.close()]);
    expect(rows).toEqual([{ n: 100_000 }]);
    expect(existsSync(`${path}-wal`)).toBe(false);
    await expect(db.all("SELECT 1", [], { long })).rejects.toMatchObject({ name: "SqlError" });
  });

  it("run on the event loop where no thread can be started", async () => {
    const path = join(folder, `${files++}.db`);
    const said: string[] = [];
    const nowhere = join(folder, "missing", "none.db");
    const readers = openReaders(nowhere, { log: (_level, message) => said.push(message) });
    const db = openSqlite(path, { readers });
    expect(await db.all("SELECT 1 AS n", [], { long })).toEqual([{ n: 1 }]);
    expect(await db.all("SELECT 2 AS n", [], { long })).toEqual([{ n: 2 }]);
    expect(said).toHaveLength(1);
    await db.close();
  });
});
