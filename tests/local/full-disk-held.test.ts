import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { consoleLink } from "../../adapters/cli/context/console-link.ts";
import { linkAtStart } from "../../adapters/cli/serve/link-at-start.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import type { SpaceReserve } from "../../adapters/shared/sqlite/write-state.ts";
import type { Statement } from "../../core/ports.ts";

const pathOf = (name: string): string =>
  join(inject("scratch"), `${name}-${crypto.randomUUID()}.db`);

/** Nothing is tried again by itself. */
const NEVER_MS = 600_000;

/** A database of two rows that has no page left until its reserve is released. */
async function fullDatabase(): Promise<{ db: SqliteDatabase; released: () => number }> {
  let released = 0;
  const reserve: SpaceReserve = {
    release() {
      released += 1;
      db.exec("PRAGMA max_page_count = 100000");
      return true;
    },
    restore: () => Promise.resolve(false),
  };
  const db = openSqlite(pathOf("held"), { reserve, probeMs: NEVER_MS });
  db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB); CREATE TABLE u (a)");
  for (const id of [1, 2, 3, 4, 5]) await db.batch([put(id, 10)]);
  db.exec("PRAGMA max_page_count = 1");
  return { db, released: () => released };
}

const put = (id: number, bytes: number): Statement => ({
  sql: "INSERT INTO t (id, b) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET b = excluded.b",
  params: [id, new Uint8Array(bytes)],
});
const remove = (id: number): Statement => ({ sql: "DELETE FROM t WHERE id = ?", params: [id] });

describe("the space that is kept for a full disk", () => {
  it("is there for a deletion that finds it full, once", async () => {
    const { db, released } = await fullDatabase();
    await db.batch([put(1, 10_000), remove(2)]);
    expect(released()).toBe(1);
    expect(await db.all("SELECT id FROM t WHERE id < 3")).toEqual([{ id: 1 }]);
    await db.close();
  });

  it("is there for deletions alone, with small changes beside", async () => {
    const { db } = await fullDatabase();
    const full = { reason: "full" };
    await expect(db.batch([put(6, 50_000)])).rejects.toMatchObject(full);
    // There would be room by now.
    await expect(db.batch([put(6, 10)])).rejects.toMatchObject(full);
    const insert = { sql: "INSERT INTO u VALUES (1)" };
    await expect(db.batch([remove(1), insert])).rejects.toMatchObject(full);
    await expect(db.batch([remove(1), put(6, 50_000)])).rejects.toMatchObject(full);
    await db.batch([remove(1)]);
    await db.batch([remove(2), put(3, 100)]);
    const some = "WITH some (id) AS (SELECT 4) DELETE FROM t WHERE id IN (SELECT id FROM some)";
    await db.batch([{ sql: some }]);
    await db.batch([{ sql: "DROP TABLE u" }]);
    expect(await db.all("SELECT id FROM t")).toEqual([{ id: 3 }, { id: 5 }]);
    await db.close();
  });

  it("is given back to open a database, which does without shared memory if it must", async () => {
    const path = pathOf("alone");
    const first = openSqlite(path);
    first.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    await first.close();
    // SQLite makes this file, and follows no links.
    symlinkSync(join(inject("scratch"), "nowhere"), `${path}-shm`);
    let released = 0;
    const reserve = { release: () => (released += 1) > 0, restore: () => Promise.resolve(false) };
    const db = openSqlite(path, { reserve, probeMs: NEVER_MS });
    expect(await db.all("SELECT a FROM t")).toEqual([{ a: 1 }]);
    expect(await db.failure?.()).toMatch(/unable to open/u);
    expect(released).toBeGreaterThan(0);
    await db.close();
  });
});

describe("the link of the start lines", () => {
  const target = (status: number) => ({
    fetch: () => Promise.resolve(new Response(null, { status })),
    url: "http://127.0.0.1",
    token: "secret",
  });

  it("is left out with a warning when the disk is full", async () => {
    const lines: string[] = [];
    const log = (level: string, message: string): void => void lines.push(`${level} ${message}`);
    expect(await linkAtStart(target(503), log)).toBeNull();
    expect(lines).toEqual([expect.stringMatching(/^warn .*`causey console`/u)]);
    expect(await linkAtStart(target(404), log)).toBeNull();
    expect(lines).toHaveLength(1);
  });

  it("is a failure of the command that is for it", async () => {
    await expect(consoleLink(target(503))).rejects.toThrow("503");
  });
});
