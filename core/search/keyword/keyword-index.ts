import type { Sql, Statement } from "../../ports.ts";
import type { KeywordTokenizer } from "../terms/query-terms.ts";
import { cutWords } from "../text/cut-words.ts";
import { folded, segment } from "../text/segment.ts";
import { nameWords } from "../text/name-words.ts";

/** The settings of an instance, as far as its full-text table needs them. */
export interface KeywordSettings {
  readonly indexing_options?:
    | { readonly keyword_tokenizer?: KeywordTokenizer | undefined }
    | null
    | undefined;
}

export function tokenizerOf(settings: KeywordSettings): KeywordTokenizer {
  return settings.indexing_options?.keyword_tokenizer ?? "porter";
}

/** The full-text table of an instance. */
export interface KeywordTable {
  /** The name of the instance. */
  readonly actor: string;
  /** The name of the table: ranking statistics are per table, so each instance has its own. */
  readonly index: string;
}

/** Returns statements that (re)create the empty full-text table. */
export function createKeywordIndex(table: KeywordTable, tokenizer: KeywordTokenizer): Statement[] {
  const tokenize =
    tokenizer === "trigram"
      ? "trigram remove_diacritics 1"
      : "porter unicode61 remove_diacritics 2";
  return [
    ...dropKeywordIndex(table),
    {
      sql: `CREATE VIRTUAL TABLE ${table.index} USING fts5 (heading, body, name, content = '', contentless_delete = 1, tokenize = '${tokenize}')`,
    },
  ];
}

/** Whether a version made the table that searched no names of items. */
export async function lacksNames(sql: Pick<Sql, "all">, { index }: KeywordTable): Promise<boolean> {
  const [row] = await sql.all("SELECT sql FROM sqlite_master WHERE name = ?", [index]);
  return row !== undefined && !String(row["sql"]).includes("name,");
}

/** Drops the full-text table and the table of its words. */
export function dropKeywordIndex(table: KeywordTable): Statement[] {
  return [wordsOf(table), table.index].map((name) => ({ sql: `DROP TABLE IF EXISTS ${name}` }));
}

/** Returns the table that lists the words of the full-text table; it holds no rows of its own. */
export function wordsOf(table: KeywordTable): string {
  return `${table.index}_words`;
}

/** Makes {@link wordsOf}, which only typing errors need. */
export function makeWords(table: KeywordTable): Statement {
  return {
    sql: `CREATE VIRTUAL TABLE IF NOT EXISTS ${wordsOf(table)} USING fts5vocab (${table.index}, row)`,
  };
}

export interface KeywordRow {
  readonly id: number;
  /** The key of the item. */
  readonly key: string;
  readonly heading: string;
  readonly text: string;
}

/** Puts one chunk into the full-text table. */
export function insertKeywordRow(
  table: KeywordTable,
  tokenizer: KeywordTokenizer,
  { id, heading, text, key }: KeywordRow,
): Statement {
  const porter = tokenizer === "porter";
  const prepare = (source: string): string => {
    const whole = `${source}${cutWords(source)}`;
    return porter ? segment(whole, "index") : folded(whole);
  };
  return {
    sql: `INSERT INTO ${table.index} (rowid, heading, body, name) VALUES (?, ?, ?, ?)`,
    params: [id, prepare(heading), prepare(text), prepare(nameWords(key))],
  };
}

/** Takes the chunks of an item below an id out of the full-text table; run it before their rows go. */
export function removeKeywordRows(
  table: KeywordTable,
  itemId: string,
  below: number = Number.MAX_SAFE_INTEGER,
): Statement {
  return {
    sql: `DELETE FROM ${table.index} WHERE rowid IN (SELECT id FROM search_chunks WHERE actor = ? AND item_id = ? AND id < ?)`,
    params: [table.actor, itemId, below],
  };
}

/** Fills the full-text table from the stored chunks: after a change of the tokenizer. */
export async function fillKeywordIndex(
  sql: Pick<Sql, "all">,
  table: KeywordTable,
  tokenizer: KeywordTokenizer,
): Promise<Statement[]> {
  const rows = await sql.all(`SELECT ${KEYWORD_COLUMNS} WHERE c.actor = ? ORDER BY c.id`, [
    table.actor,
  ]);
  return rows.map((row) => insertKeywordRow(table, tokenizer, toKeywordRow(row)));
}

/** The columns and tables of a row for {@link toKeywordRow}. */
export const KEYWORD_COLUMNS =
  "c.id, c.item_id, c.heading, c.text, COALESCE(i.key, '') AS key FROM search_chunks c LEFT JOIN search_items i ON i.actor = c.actor AND i.id = c.item_id";

/** Makes a row of the index of one of `search_chunks`. */
export function toKeywordRow(row: Readonly<Record<string, unknown>>): KeywordRow {
  return {
    id: Number(row["id"]),
    key: String(row["key"]),
    heading: String(row["heading"]),
    text: String(row["text"]),
  };
}
