import type { ActorContext, Statement } from "../../ports.ts";
import {
  createKeywordIndex,
  dropKeywordIndex,
  fillKeywordIndex,
  insertKeywordRow,
  type KeywordTable,
  makeWords,
  removeKeywordRows,
  wordsOf,
} from "./keyword-index.ts";
import type { KeywordChange, KeywordStore } from "./keyword-change.ts";
import { copiedKeywords } from "./keyword-copy.ts";

/** Makes the store of an instance: in its database, or in one of this process where that has no full text. */
export function keywordStore(context: ActorContext, table: KeywordTable): KeywordStore {
  return context.fullText === undefined
    ? joinedKeywords(context, table)
    : copiedKeywords(context, table, context.fullText);
}

/** Chunks whose text is prepared before others may go on: a few milliseconds. */
const SLICE = 1000;

/** Makes the store of a table that is beside the rows: each change of both is one transaction. */
function joinedKeywords({ sql, system }: ActorContext, table: KeywordTable): KeywordStore {
  let hasWords = false;

  async function statementsOf(change: KeywordChange): Promise<Statement[]> {
    if (change.type === "item") {
      const { chunks, itemId, tokenizer } = change;
      const statements = [removeKeywordRows(table, itemId)];
      for (const [n, chunk] of chunks.entries()) {
        statements.push(insertKeywordRow(table, tokenizer, chunk));
        if (n % SLICE === SLICE - 1) await system.sleep(0);
      }
      return statements;
    }
    hasWords = false;
    if (change.type === "drop") return dropKeywordIndex(table);
    const { tokenizer } = change;
    return [
      ...createKeywordIndex(table, tokenizer),
      ...(await fillKeywordIndex(sql, table, tokenizer)),
    ];
  }

  return {
    all: (...query) => sql.all(...query),
    async words() {
      if (!hasWords) await sql.batch([makeWords(table)]);
      hasWords = true;
      return wordsOf(table);
    },
    ready: () => undefined,
    commit: async (change, write) => write(change === null ? [] : await statementsOf(change)),
  };
}
