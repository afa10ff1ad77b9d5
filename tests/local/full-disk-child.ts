// Fills a small file system of its own, and shows in lines of JSON what a database still does there.
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { spaceReserve } from "../../adapters/shared/sqlite/space-reserve.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";

const folder = process.argv[2] ?? "";
const reserve = spaceReserve(join(folder, "reserve"));
const open = (probeMs: number): SqliteDatabase =>
  openSqlite(join(folder, "causey.db"), { reserve, probeMs });

/** Takes all space that is left. */
function fill(): void {
  const file = openSync(join(folder, "fill"), "a");
  try {
    for (;;) writeSync(file, new Uint8Array(4096));
  } catch {
    closeSync(file);
  }
}

const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => String(error),
  );
const put = (db: SqliteDatabase, bytes: number): Promise<string> =>
  outcome(db.batch([{ sql: "INSERT INTO t (b) VALUES (?)", params: [new Uint8Array(bytes)] }]));
const remove = (db: SqliteDatabase, id: number): Promise<string> =>
  outcome(
    db.batch([
      { sql: "DELETE FROM t WHERE id = ?", params: [id] },
      { sql: "UPDATE t SET b = b WHERE id = -1" },
    ]),
  );
const count = async (db: SqliteDatabase): Promise<number> =>
  Number((await db.all("SELECT count(*) AS n FROM t"))[0]?.["n"]);
const shown: Record<string, unknown> = {};

shown["kept"] = await reserve.restore();
// Nothing is tried again until the end.
let db = open(600_000);
db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)");
for (let i = 0; i < 200; i++) await put(db, 50_000);
fill();
// The first one finds the disk full by itself.
shown["first"] = await remove(db, 1);
shown["stores"] = [await put(db, 5_000_000), await put(db, 10)];
const removed = new Set<string>();
for (let id = 2; id <= 100; id++) removed.add(await remove(db, id));
shown["deletes"] = [...removed];
shown["reads"] = await count(db);
shown["failure"] = db.failure?.();
await db.close();
fill();
db = open(20);
shown["restarted"] = await count(db);
shown["storesThen"] = await put(db, 10);
rmSync(join(folder, "fill"));
while (db.failure?.() !== null) await new Promise((resolve) => setTimeout(resolve, 10));
shown["storesAtLast"] = await put(db, 100_000);
shown["keptAtLast"] = await reserve.restore();
await db.close();
process.stdout.write(`${JSON.stringify(shown)}\n`);
