import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { openSqlite } from "../../../adapters/shared/sqlite/open-sqlite.ts";
import type { Statement } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { exitOf, missing, runtimes, start } from "../runtimes.ts";

const folder = mkdtempSync(join(inject("scratch"), "local-"));

describe("durability", () => {
  for (const runtime of runtimes) {
    it.concurrent(`what ${runtime} acknowledged before SIGKILL is there afterwards`, async ({
      skip,
    }) => {
      const reason = missing(runtime);
      if (reason !== false) skip(reason);
      const path = join(folder, `${runtime}.db`);
      const before = openSqlite(path);
      await before.batch([
        { sql: "CREATE TABLE acknowledged (n INTEGER, part INTEGER, PRIMARY KEY (n, part))" },
      ]);
      await before.close();

      const child = start(runtime, "durability-child.ts", [path]);
      let output = "";
      child.stdout.on("data", (chunk: Uint8Array) => {
        output += new TextDecoder().decode(chunk);
        if (output.length > 2000) child.kill("SIGKILL");
      });
      expect(await exitOf(child)).toBe("SIGKILL");
      // The last line may be cut; every whole one was acknowledged.
      const acknowledged = output.split("\n").slice(0, -1).map(Number);

      const db = openSqlite(path);
      const rows = await db.all("SELECT n, count(*) AS parts FROM acknowledged GROUP BY n");
      const there = new Set(rows.map((row) => row["n"]));
      expect(acknowledged.filter((n) => !there.has(n))).toEqual([]);
      expect(rows.filter((row) => row["parts"] !== 2)).toEqual([]);
      expect(await db.all("PRAGMA integrity_check")).toMatchObject([{ integrity_check: "ok" }]);
      await db.close();
    });
  }

  it("only a transaction of lazy batches alone does without waiting for the disk", async () => {
    const db = openSqlite(join(folder, "lazy.db"));
    db.exec("CREATE TABLE seen (who TEXT, level INTEGER)");
    const note = (who: string): Statement[] => [
      { sql: "INSERT INTO seen SELECT ?, synchronous FROM pragma_synchronous", params: [who] },
    ];
    await db.batch(note("lazy"), { lazy: true });
    await Promise.all([db.batch(note("mixed"), { lazy: true }), db.batch(note("beside"))]);
    await db.batch(note("alone"));
    const [FULL, NORMAL] = [2, 1];
    expect(await db.all("SELECT who, level FROM seen")).toEqual([
      { who: "lazy", level: NORMAL },
      { who: "mixed", level: FULL },
      { who: "beside", level: FULL },
      { who: "alone", level: FULL },
    ]);
    await db.close();
  });

  it("a lock held by another connection is waited for, and is busy in the end", async () => {
    const path = join(folder, "busy.db");
    const [one, two] = [openSqlite(path), openSqlite(path, { busyMs: 200 })];
    one.exec("CREATE TABLE t (n INTEGER)");
    const insert = { sql: "INSERT INTO t (n) VALUES (1)" };
    one.exec("BEGIN IMMEDIATE");
    const patient = two.batch([insert]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    one.exec("COMMIT");
    expect(await patient).toMatchObject([{ changes: 1 }]);
    one.exec("BEGIN IMMEDIATE");
    const refused = await two.batch([insert]).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SqlError);
    expect(refused).toMatchObject({ reason: "busy" });
    one.exec("COMMIT");
    expect(await two.batch([insert])).toMatchObject([{ changes: 1 }]);
    await Promise.all([one.close(), two.close()]);
  });

  it("a full database refuses with full and recovers without a restart", async () => {
    const db = openSqlite(join(folder, "full.db"));
    db.exec("CREATE TABLE t (b BLOB)");
    db.exec("PRAGMA max_page_count = 20");
    const big = { sql: "INSERT INTO t (b) VALUES (?)", params: [new Uint8Array(200_000)] };
    const small = { sql: "INSERT INTO t (b) VALUES (?)", params: [new Uint8Array(10)] };
    const settled = await Promise.allSettled([
      db.batch([small]),
      db.batch([big]),
      db.batch([small]),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toMatchObject({ reason: { reason: "full" } });
    db.exec("PRAGMA max_page_count = 100000");
    expect(await db.batch([big])).toMatchObject([{ changes: 1 }]);
    await db.close();
  });
});
