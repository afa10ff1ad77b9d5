import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, inject, it } from "vitest";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { eventually, LONG } from "../cases/eventually.ts";

const PAGE = 4096;
const pages = (db: SqliteDatabase): number =>
  Number(db.rows("PRAGMA page_count")[0]?.["page_count"]);

/** Writes 2,000 rows of two pages and deletes all but a hundred. */
async function writeAndDelete(db: SqliteDatabase): Promise<void> {
  await db.batch([
    { sql: "CREATE TABLE IF NOT EXISTS rows_of_two_pages (n INTEGER PRIMARY KEY, data BLOB)" },
    ...Array.from({ length: 2000 }, (_, n) => ({
      sql: "INSERT INTO rows_of_two_pages VALUES (?, ?)",
      params: [n, new Uint8Array(2 * PAGE).fill(n)],
    })),
  ]);
  expect(pages(db)).toBeGreaterThan(4000);
  await db.batch([{ sql: "DELETE FROM rows_of_two_pages WHERE n % 20 <> 0" }]);
}

it(
  "pages that deleted rows left are returned, and the others stay what they were",
  LONG,
  async () => {
    const path = join(inject("scratch"), "free-pages.db");
    const db = openSqlite(path, { freeAfterMs: 5 });
    await writeAndDelete(db);
    await eventually(() => pages(db) < 1000, "the file is small again");
    const rows = await db.all("SELECT n, data FROM rows_of_two_pages ORDER BY n");
    expect(rows).toHaveLength(100);
    for (const { n, data } of rows) expect(data).toEqual(new Uint8Array(2 * PAGE).fill(Number(n)));
    await db.close();
    expect(statSync(path).size).toBeLessThan(1000 * PAGE);
    const again = new DatabaseSync(path);
    expect(again.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    again.close();
  },
);

it("a lock that another process holds is not waited for", LONG, async () => {
  const path = join(inject("scratch"), "locked-pages.db");
  const db = openSqlite(path, { freeAfterMs: 5, busyMs: 60_000 });
  await writeAndDelete(db);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  let longest = 0;
  for (let turn = 0; turn < 40; turn++) {
    const at = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 5));
    longest = Math.max(longest, performance.now() - at);
  }
  // Waiting for the lock would take the event loop for a minute.
  expect(longest).toBeLessThan(30_000);
  other.exec("ROLLBACK");
  other.close();
  await eventually(() => pages(db) < 1000, "the file is small again");
  await db.close();
});

it("a database that was made without the setting works as before", async () => {
  const path = join(inject("scratch"), "no-free-pages.db");
  const former = new DatabaseSync(path);
  former.exec("PRAGMA auto_vacuum = NONE; CREATE TABLE one (n INTEGER)");
  former.close();
  const db = openSqlite(path, { freeAfterMs: 1 });
  await writeAndDelete(db);
  const before = pages(db);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(pages(db)).toBe(before);
  expect(await db.all("SELECT COUNT(*) AS n FROM rows_of_two_pages")).toEqual([{ n: 100 }]);
  await db.close();
});
