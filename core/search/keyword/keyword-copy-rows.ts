import type { Sql, Statement } from "../../ports.ts";
import type { KeywordTokenizer } from "../terms/query-terms.ts";
import {
  dropKeywordIndex,
  insertKeywordRow,
  type KeywordRow,
  type KeywordTable,
  removeKeywordRows,
} from "./keyword-index.ts";

/** How long the copy of an instance stays that is not asked for, in ms: it may be at another server by now. */
const KEPT_MS = 7 * 24 * 3_600_000;
/** Copies that are removed at a start: the others go at later ones. */
const REMOVED = 100;

/**
 * The tables of copies, in a database of this process: which chunks a full-text table has, and at which position of the rows
 * it is. A copy that is still being made has none.
 */
const TABLES: readonly Statement[] = [
  `CREATE TABLE IF NOT EXISTS search_copies (
    actor TEXT PRIMARY KEY, name TEXT NOT NULL, position TEXT, used_ms INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS search_chunks (
    actor TEXT NOT NULL, id INTEGER NOT NULL, item_id TEXT NOT NULL, PRIMARY KEY (actor, id)) WITHOUT ROWID`,
  "CREATE INDEX IF NOT EXISTS search_chunks_item ON search_chunks (actor, item_id)",
].map((sql) => ({ sql }));

/** A full-text table that this instance fills. */
export interface Copy {
  readonly tokenizer: KeywordTokenizer;
  /** Chunks up to this id are in it; infinite once all are. */
  cursor: number;
  /** The position of the rows that it has, or will have once all chunks are in it. */
  position: string;
  /** Settles once all chunks are in it. */
  filled: Promise<void>;
  /** Whether the table of its words is there. */
  hasWords: boolean;
}

const prepared = new WeakMap<Sql, Promise<void>>();

/** Makes the tables of copies, and removes copies that nobody has asked for; the first instance of a process does. */
export function prepareCopies(database: Sql, now: number): Promise<void> {
  const known = prepared.get(database);
  if (known !== undefined) return known;
  const work = prepare(database, now).catch((error: unknown) => {
    prepared.delete(database);
    throw error;
  });
  prepared.set(database, work);
  return work;
}

async function prepare(database: Sql, now: number): Promise<void> {
  await database.batch(TABLES);
  const old = await database.all(
    `SELECT actor, name FROM search_copies WHERE used_ms < ? LIMIT ${REMOVED}`,
    [now - KEPT_MS],
  );
  for (const { actor, name } of old)
    await database.batch(dropCopy({ actor: String(actor), index: String(name) }));
}

/** Puts one chunk into a copy. */
export function insertRow(
  table: KeywordTable,
  { tokenizer }: Copy,
  itemId: string,
  row: KeywordRow,
): Statement[] {
  return [
    {
      sql: "INSERT INTO search_chunks (actor, id, item_id) VALUES (?, ?, ?)",
      params: [table.actor, row.id, itemId],
    },
    insertKeywordRow(table, tokenizer, row),
  ];
}

/** Returns the position of a copy that has the names of items: a version before left them out, and wrote the plain one. */
export function withNames(position: string): string {
  return `${position} with names`;
}

/** Says that a copy has all that the rows have at a position. */
export function atPosition(actor: string, position: string): Statement {
  return {
    sql: "UPDATE search_copies SET position = ? WHERE actor = ?",
    params: [withNames(position), actor],
  };
}

/**
 * Replaces the chunks of an item by later ones. Those behind the cursor come by themselves, and those that a page has brought
 * stay: FTS5 would count them twice.
 */
export async function replaced(
  database: Pick<Sql, "all">,
  table: KeywordTable,
  copy: Copy,
  { chunks, itemId }: { readonly itemId: string; readonly chunks: readonly KeywordRow[] },
): Promise<Statement[]> {
  const { actor } = table;
  const first = chunks[0]?.id ?? Number.MAX_SAFE_INTEGER;
  const there = await database.all(
    "SELECT id FROM search_chunks WHERE actor = ? AND item_id = ? AND id >= ?",
    [actor, itemId, first],
  );
  const known = new Set(there.map(({ id }) => Number(id)));
  const here = chunks.filter(({ id }) => id <= copy.cursor && !known.has(id));
  return [
    removeKeywordRows(table, itemId, first),
    {
      sql: "DELETE FROM search_chunks WHERE actor = ? AND item_id = ? AND id < ?",
      params: [actor, itemId, first],
    },
    ...here.flatMap((row) => insertRow(table, copy, itemId, row)),
    ...(copy.cursor === Number.POSITIVE_INFINITY ? [atPosition(actor, copy.position)] : []),
  ];
}

export function dropCopy(table: KeywordTable): Statement[] {
  const params = [table.actor];
  return [
    ...dropKeywordIndex(table),
    { sql: "DELETE FROM search_chunks WHERE actor = ?", params },
    { sql: "DELETE FROM search_copies WHERE actor = ?", params },
  ];
}

export function toPosition(actor: string, position: string): Statement {
  return {
    sql: `INSERT INTO search_keyword_positions (actor, position) VALUES (?, ?)
      ON CONFLICT (actor) DO UPDATE SET position = excluded.position`,
    params: [actor, position],
  };
}
