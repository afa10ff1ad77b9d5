import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import type { ActorContext, Sql, Statement } from "../../core/ports.ts";
import { copiedKeywords } from "../../core/search/keyword/keyword-copy.ts";
import type { KeywordStore } from "../../core/search/keyword/keyword-change.ts";
import { instanceTables } from "../../core/search/state/tables.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { eventually } from "../cases/eventually.ts";

const table = { actor: "acme/default/main", index: "search_fts_test" };
const real = localSystem(() => undefined);
let rows: SqliteDatabase;
let copies: SqliteDatabase;
/** Pages of chunks that were read from the rows. */
let pages = 0;
/** Is waited for before each page. */
let gate: Promise<void>;
let next = 1;

beforeEach(() => {
  rows = openSqlite(":memory:");
  copies = openSqlite(":memory:");
  for (const step of instanceTables) rows.exec(step);
  pages = 0;
  next = 1;
  gate = Promise.resolve();
  rows.exec(
    `INSERT INTO search_instances (actor, settings, next_chunk, chunks, trained_version, trained_chunks)
      VALUES ('${table.actor}', '{"index_method":{"keyword":true}}', 1, 3, 0, 0)`,
  );
  const [opened, local] = [rows, copies];
  onTestFinished(async () => {
    await Promise.all([opened.close(), local.close()]);
  });
});

/** Opens the store as an instance that has just started does; a search waits no time at all. */
function store(database: Sql = copies): KeywordStore {
  const sql: Sql = {
    ...rows,
    async all(...query) {
      if (query[0].includes("FROM search_chunks c LEFT JOIN search_items")) {
        pages += 1;
        await gate;
      }
      return rows.all(...query);
    },
  };
  const system = { ...real, sleep: () => Promise.resolve() };
  return copiedKeywords(
    { name: table.actor, sql, system } as unknown as ActorContext,
    table,
    () => database,
  );
}

const itemRows = (item: string, texts: readonly string[]) =>
  texts.map((text) => ({ id: (next += 1), key: `${item}.txt`, heading: "", text, item }));
const inserted = (chunks: ReturnType<typeof itemRows>): Statement[] =>
  chunks.map(({ id, heading, text, item }) => ({
    sql: `INSERT INTO search_chunks (actor, id, item_id, ord, start_byte, end_byte, heading, text)
      VALUES (?, ?, ?, ?, 0, 0, ?, ?)`,
    params: [table.actor, id, item, id, heading, text],
  }));

/** Gives an item other chunks, by way of a store. */
async function put(keywords: KeywordStore, item: string, texts: readonly string[]): Promise<void> {
  const chunks = itemRows(item, texts);
  await keywords.commit({ type: "item", itemId: item, chunks, tokenizer: "porter" }, (together) =>
    rows.batch([
      ...together,
      { sql: "DELETE FROM search_chunks WHERE item_id = ?", params: [item] },
      ...inserted(chunks),
    ]),
  );
}

/** Searches once the table is there. */
async function found(keywords: KeywordStore, word: string): Promise<number[]> {
  await eventually(
    () =>
      keywords.ready()?.then(
        () => true,
        () => false,
      ) ?? true,
    "the copy is there",
  );
  const hits = await keywords.all(
    `SELECT rowid AS id FROM ${table.index} WHERE ${table.index} MATCH ? ORDER BY rowid`,
    [word],
  );
  return hits.map(({ id }) => Number(id));
}

const many = (word: string): string[] => Array.from({ length: 600 }, (_, n) => `${word} ${n}`);

describe("the copy of a keyword index", () => {
  it("is made from the rows in pages, and follows each change", async () => {
    await rows.batch(inserted(itemRows("old", many("roof"))));
    const keywords = store();
    expect(await found(keywords, "roof")).toHaveLength(600);
    expect(pages).toBe(3);
    await put(keywords, "old", ["one roof"]);
    expect(await found(keywords, "roof")).toEqual([602]);
    expect(pages).toBe(3);
  });

  it("takes changes in while it is made, behind the place that it has reached and before", async () => {
    await rows.batch(inserted(itemRows("old", many("roof"))));
    await rows.batch(inserted(itemRows("new", many("wall"))));
    await rows.batch(inserted(itemRows("other", many("floor"))));
    let open = (): void => undefined;
    const keywords = store();
    gate = new Promise((resolve) => {
      open = resolve;
    });
    await expect(keywords.ready()).rejects.toMatchObject({ status: 503 });
    const changes = [put(keywords, "old", ["roof"]), put(keywords, "new", ["wall", "door"])];
    const committed = () => rows.rows("SELECT id FROM search_chunks WHERE item_id = 'new'").length;
    await eventually(() => committed() === 2, "the rows have changed");
    open();
    await Promise.all(changes);
    expect(await found(keywords, "roof")).toHaveLength(1);
    expect(await found(keywords, "wall")).toHaveLength(1);
    expect(await found(keywords, "door")).toHaveLength(1);
    expect(await found(keywords, "floor")).toHaveLength(600);
    expect(pages).toBe(3);
  });

  it("counts no chunk twice that a page has brought before its change was followed", async () => {
    const keywords = store();
    let open = (): void => undefined;
    gate = new Promise((resolve) => {
      open = resolve;
    });
    await expect(keywords.ready()).rejects.toMatchObject({ status: 503 });
    const change = put(keywords, "late", ["roof", "wall"]);
    const committed = () => rows.rows("SELECT id FROM search_chunks").length;
    await eventually(() => committed() === 2, "the rows have changed");
    open();
    await change;
    const score = async (made: KeywordStore): Promise<unknown> => {
      await found(made, "roof");
      return made.all(`SELECT bm25(${table.index}) AS score FROM ${table.index} (?)`, ["roof"]);
    };
    const own = await score(keywords);
    // It was not made again.
    expect(pages).toBe(1);
    expect(own).toEqual(await score(store(openSqlite(":memory:"))));
  });

  it("is taken over by the next instance when it is at the position of the rows, and else made again", async () => {
    await rows.batch(inserted(itemRows("old", many("roof"))));
    await found(store(), "roof");
    expect(pages).toBe(3);
    expect(await found(store(), "roof")).toHaveLength(600);
    expect(pages).toBe(3);
    // Another server has changed the rows.
    await put(store(openSqlite(":memory:")), "old", ["roof"]);
    pages = 0;
    expect(await found(store(), "roof")).toHaveLength(1);
    expect(pages).toBe(1);
  });

  it("is at no position before all chunks are in it", async () => {
    await rows.batch(inserted(itemRows("old", many("roof"))));
    gate = new Promise(() => undefined);
    await expect(store().ready()).rejects.toMatchObject({ status: 503 });
    expect(copies.rows("SELECT position FROM search_copies")).toEqual([{ position: null }]);
    gate = Promise.resolve();
    expect(await found(store(), "roof")).toHaveLength(600);
  });

  it("says how far it is, and when to come again", async () => {
    await rows.batch(inserted(itemRows("old", ["roof"])));
    gate = new Promise(() => undefined);
    await expect(store().ready()).rejects.toMatchObject({
      message: expect.stringContaining("0 of 3 chunks"),
      options: { headers: { "retry-after": "2" } },
    });
  });

  it("is made again after a commit whose outcome nobody knows", async () => {
    const keywords = store();
    await found(keywords, "roof");
    const chunks = itemRows("old", ["roof"]);
    const change = { type: "item", itemId: "old", chunks, tokenizer: "porter" } as const;
    const lost = keywords.commit(change, async (together) => {
      await rows.batch([...together, ...inserted(chunks)]);
      throw new SqlError("unknown", "The connection is lost");
    });
    await expect(lost).rejects.toMatchObject({ reason: "unknown" });
    expect(await found(keywords, "roof")).toEqual([chunks[0]?.id]);
  });

  it("does not stop a change of the rows when it cannot be written, and is made again", async () => {
    let isFull = false;
    const keywords = store({
      ...copies,
      batch: (batch) =>
        isFull ? Promise.reject(new SqlError("full", "No space")) : copies.batch(batch),
    });
    await found(keywords, "roof");
    isFull = true;
    await put(keywords, "old", ["roof"]);
    expect(rows.rows("SELECT text FROM search_chunks")).toEqual([{ text: "roof" }]);
    await expect(keywords.ready()).rejects.toMatchObject({ reason: "full" });
    isFull = false;
    expect(await found(keywords, "roof")).toHaveLength(1);
  });

  it("has the names of items, and is made again where a version before left them out", async () => {
    const keywords = store();
    await put(keywords, "invoice", ["roof"]);
    expect(await found(keywords, "invoice")).toHaveLength(1);
    // As that version wrote it.
    copies.exec(`DROP TABLE ${table.index}`);
    copies.exec(`CREATE VIRTUAL TABLE ${table.index} USING fts5 (heading, body, content = '')`);
    const [{ position } = {}] = rows.rows("SELECT position FROM search_keyword_positions");
    await copies.batch([
      { sql: "UPDATE search_copies SET position = ?", params: [position ?? null] },
    ]);
    expect(await found(store(), "roof")).toHaveLength(1);
  });

  it("is not written by a former instance once the next one has it", async () => {
    const former = store();
    await found(former, "roof");
    const present = store();
    await found(present, "roof");
    const before = copies.rows("SELECT * FROM search_copies");
    await put(former, "late", ["roof"]);
    expect(copies.rows("SELECT * FROM search_copies")).toEqual(before);
    // The rows have changed: the present one finds that out when it starts the next time.
    expect(await found(store(), "roof")).toHaveLength(1);
  });

  it("goes with its instance, and when nobody has asked for it for a week", async () => {
    await rows.batch(inserted(itemRows("old", ["roof"])));
    const keywords = store();
    await found(keywords, "roof");
    await keywords.commit({ type: "drop" }, () => Promise.resolve());
    const tables = (db: SqliteDatabase) =>
      db.rows("SELECT name FROM sqlite_schema WHERE name = ?", [table.index]);
    expect(tables(copies)).toEqual([]);
    await found(store(), "roof");
    copies.exec("UPDATE search_copies SET used_ms = 0");
    // Another connection, as of the next process.
    const again = { ...copies };
    const other = { actor: "other", index: "search_fts_other" };
    rows.exec(
      `INSERT INTO search_instances (actor, settings, next_chunk, chunks, trained_version, trained_chunks)
        VALUES ('other', '{"index_method":{"keyword":true}}', 1, 0, 0, 0)`,
    );
    const context = { name: "other", sql: rows, system: real } as unknown as ActorContext;
    await copiedKeywords(context, other, () => again).ready();
    expect(tables(copies)).toEqual([]);
    expect(copies.rows("SELECT actor FROM search_copies")).toEqual([{ actor: "other" }]);
  });
});
