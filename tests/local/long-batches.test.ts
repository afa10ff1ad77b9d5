import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, inject, it, vi } from "vitest";
import type { Statement } from "../../core/ports.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { longWriter } from "../../adapters/shared/sqlite/writer.ts";

const folder = mkdtempSync(join(inject("scratch"), "batches-"));
let files = 0;

function open(): SqliteDatabase {
  const db = openSqlite(join(folder, `${files++}.db`));
  db.exec("CREATE TABLE t (a PRIMARY KEY, b)");
  return db;
}

function inserts(from: number, to: number): Statement[] {
  return Array.from({ length: to - from }, (_, n) => ({
    sql: "INSERT INTO t VALUES (?, ?)",
    params: [from + n, `text ${from + n}`],
  }));
}

/** Rows that take SQLite about a second. */
const slow: Statement = {
  sql: `INSERT INTO t WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
    SELECT -max(n), 'slow' FROM c`,
  params: [3_000_000],
};

describe("short batches", () => {
  it("that come together are several transactions when one would take too long", async () => {
    const db = open();
    // Each takes SQLite about two milliseconds.
    const batches = Array.from({ length: 40 }, (_, n) => [
      { ...slow, params: [6000 + n] },
      { sql: "INSERT INTO t VALUES (?, 'after')", params: [n] },
    ]);
    const order: number[] = [];
    const committed: unknown[] = [];
    await Promise.all(
      batches.map(async (batch, n) => {
        await db.batch(batch);
        order.push(n);
        if (n === 0) committed.push(...(await db.all("SELECT count(*) AS n FROM t")));
      }),
    );
    expect(order).toEqual(batches.map((_, n) => n));
    expect((committed[0] as { n: number }).n).toBeLessThan(80);
    expect(await db.all("SELECT count(*) AS n FROM t")).toEqual([{ n: 80 }]);
    await db.close();
  });
});

describe("long batches", () => {
  it("leave the event loop to others, and are committed before what came after them", async () => {
    const db = open();
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    await Promise.all([
      db.batch(inserts(0, 1)).then(note("before")),
      db.batch([slow, ...inserts(1, 5000)]).then(note("long")),
      db.batch([{ sql: "UPDATE t SET b = 'changed' WHERE a = 7" }]).then(note("after")),
    ]);
    clearInterval(timer);
    expect(order).toEqual(["before", "long", "after"]);
    expect(turns).toBeGreaterThan(20);
    expect(await db.all("SELECT count(*) AS n FROM t")).toEqual([{ n: 5001 }]);
    expect(await db.all("SELECT b FROM t WHERE a = 7")).toEqual([{ b: "changed" }]);
    await db.close();
  });

  it("answer what each statement did", async () => {
    const db = open();
    const bytes = new Uint8Array(700_000).fill(7);
    const [one, big, all, none] = await db.batch([
      { sql: "INSERT INTO t VALUES (1, ?) RETURNING a", params: ["x"] },
      { sql: "INSERT INTO t VALUES (2, ?)", params: [bytes] },
      { sql: "UPDATE t SET a = a + 10" },
      { sql: "DELETE FROM t WHERE a = 1" },
    ]);
    expect([one, big, all, none]).toEqual([
      { rows: [{ a: 1 }], changes: 1 },
      { rows: [], changes: 1 },
      { rows: [], changes: 2 },
      { rows: [], changes: 0 },
    ]);
    const [row] = await db.all("SELECT b FROM t WHERE a = 12");
    expect(row?.["b"]).toEqual(bytes);
    await db.close();
  });

  it("change nothing when a statement fails, and hold up no later one", async () => {
    const db = open();
    const failing = db.batch([...inserts(0, 400), ...inserts(200, 201), ...inserts(400, 900)]);
    const next = db.batch(inserts(1000, 1400));
    await expect(failing).rejects.toMatchObject({ name: "SqlError", reason: "constraint" });
    await next;
    expect(await db.all("SELECT count(*) AS n, min(a) AS least FROM t")).toEqual([
      { n: 400, least: 1000 },
    ]);
    await db.close();
  });

  it("are committed before the database is closed, and refused after that", async () => {
    const path = join(folder, `${files++}.db`);
    const db = openSqlite(path);
    db.exec("CREATE TABLE t (a PRIMARY KEY, b)");
    let isWritten = false;
    const written = db.batch(inserts(0, 3000)).finally(() => (isWritten = true));
    await db.close();
    expect(isWritten).toBe(true);
    expect(await written).toHaveLength(3000);
    await expect(db.batch(inserts(0, 3000))).rejects.toThrow("closed");
    const again = openSqlite(path);
    expect(await again.all("SELECT count(*) AS n FROM t")).toEqual([{ n: 3000 }]);
    await again.close();
  });

  it("have an unknown outcome when their thread dies behind COMMIT, and are not run again", async () => {
    const db = open();
    const tell = vi.spyOn(Worker.prototype, "postMessage");
    tell.mockImplementationOnce(function dying(this: Worker, part: unknown) {
      tell.mockRestore();
      const emit = this.emit.bind(this);
      this.emit = (event: string | symbol, ...values: unknown[]) => {
        if (event !== "message") return emit(event, ...values);
        void this.terminate();
        return true;
      };
      this.postMessage(part);
    });
    const lost = db.batch(inserts(0, 600));
    await expect(lost).rejects.toMatchObject({ name: "SqlError", reason: "unknown" });
    expect(await db.all("SELECT count(*) AS n FROM t")).toEqual([{ n: 600 }]);
    await db.batch(inserts(600, 1200));
    expect(await db.all("SELECT count(*) AS n FROM t")).toEqual([{ n: 1200 }]);
    await db.close();
  });

  it("run on the event loop where no thread can write, which is told once", async () => {
    const lines: string[] = [];
    const writer = longWriter(join(folder, "missing", "x.db"), {
      pragmas: "",
      log: (_, message) => void lines.push(message),
    });
    const db = openSqlite(join(folder, `${files++}.db`), { writer });
    db.exec("CREATE TABLE t (a PRIMARY KEY, b)");
    await db.batch(inserts(0, 300));
    await db.batch(inserts(300, 600));
    expect(lines).toEqual([
      "Long batches are committed on the event loop: no thread could be started",
    ]);
    expect(await db.all("SELECT count(*) AS n FROM t")).toEqual([{ n: 600 }]);
    await db.close();
  });
});
