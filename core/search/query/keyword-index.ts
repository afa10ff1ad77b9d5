import { ApiError } from "../../http/api-error.ts";
import type { QueryOptions, Sql, Statement } from "../../ports.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";
import type { KeywordTokenizer } from "../terms/query-terms.ts";
import { folded, segment } from "../text/segment.ts";

/** Returns the tokenizer of an instance. */
export function tokenizerOf(settings: InstanceSettings): KeywordTokenizer {
  return settings.indexing_options?.keyword_tokenizer ?? "porter";
}

/** An instance, as far as its full-text table needs it. */
interface KeywordTable extends Pick<InstanceState, "actor" | "index"> {
  readonly context: { readonly sql: Pick<Sql, "all" | "dialect"> };
}

/** Throws 400 where the database is not SQLite, which alone has the full-text table. */
export function checkKeywordIndex({ context }: Pick<KeywordTable, "context">): void {
  if (context.sql.dialect !== "sqlite")
    throw new ApiError("invalid_request", {
      message:
        'The keyword index needs SQLite, and the state is in PostgreSQL: set index_method to {"vector": true, "keyword": false}',
    });
}

/** Returns statements that (re)create the empty full-text table. Throws as {@link checkKeywordIndex} does. */
export function createKeywordIndex(state: KeywordTable, settings: InstanceSettings): Statement[] {
  checkKeywordIndex(state);
  const tokenize =
    tokenizerOf(settings) === "trigram"
      ? "trigram remove_diacritics 1"
      : "porter unicode61 remove_diacritics 2";
  return [
    ...dropKeywordIndex(state),
    {
      sql: `CREATE VIRTUAL TABLE ${state.index} USING fts5 (heading, body, content = '', contentless_delete = 1, tokenize = '${tokenize}')`,
    },
  ];
}

/** Drops the full-text table and the table of its words. */
export function dropKeywordIndex(state: KeywordTable): Statement[] {
  withWords.delete(state);
  return [wordsOf(state), state.index].map((table) => ({ sql: `DROP TABLE IF EXISTS ${table}` }));
}

/** Returns the table that lists the words of the full-text table; it holds no rows of its own. */
export function wordsOf(state: KeywordTable): string {
  return `${state.index}_words`;
}

/** Instances whose {@link wordsOf} are known to be there: a search writes nothing, but once. */
const withWords = new WeakSet<KeywordTable>();

/** Makes {@link wordsOf}, which only typing errors need. */
export async function makeWords(state: InstanceState): Promise<void> {
  if (withWords.has(state)) return;
  const sql = `CREATE VIRTUAL TABLE IF NOT EXISTS ${wordsOf(state)} USING fts5vocab (${state.index}, row)`;
  await state.context.sql.batch([{ sql }]);
  withWords.add(state);
}

/** A row of the keyword index. */
export interface KeywordRow {
  readonly tokenizer: KeywordTokenizer;
  readonly id: number;
  readonly heading: string;
  readonly text: string;
}

/** Puts one chunk into the full-text table. */
export function insertKeywordRow(
  state: KeywordTable,
  { tokenizer, id, heading, text }: KeywordRow,
): Statement {
  checkKeywordIndex(state);
  const porter = tokenizer === "porter";
  const prepare = (source: string): string => (porter ? segment(source, "index") : folded(source));
  return {
    sql: `INSERT INTO ${state.index} (rowid, heading, body) VALUES (?, ?, ?)`,
    params: [id, prepare(heading), prepare(text)],
  };
}

/** Takes the chunks of an item out of the full-text table; run it before their rows go. */
export function removeKeywordRows(state: InstanceState, itemId: string): Statement {
  checkKeywordIndex(state);
  return {
    sql: `DELETE FROM ${state.index} WHERE rowid IN (SELECT id FROM search_chunks WHERE actor = ? AND item_id = ?)`,
    params: [state.actor, itemId],
  };
}

/** Fills the full-text table from the stored chunks: after a change of the tokenizer. */
export async function fillKeywordIndex(
  state: KeywordTable,
  tokenizer: KeywordTokenizer,
): Promise<Statement[]> {
  const rows = await state.context.sql.all(
    "SELECT id, heading, text FROM search_chunks WHERE actor = ? ORDER BY id",
    [state.actor],
  );
  return rows.map((row) =>
    insertKeywordRow(state, {
      tokenizer,
      id: Number(row["id"]),
      heading: String(row["heading"]),
      text: String(row["text"]),
    }),
  );
}

/** Below that many chunks FTS5 answers sooner than a thread would. */
const FAST_CHUNKS = 2000;

/** Runs a query on another thread where that is worth it. */
export function longQuery(state: InstanceState): QueryOptions {
  return state.facts().chunks < FAST_CHUNKS ? {} : { long: state.actor };
}
