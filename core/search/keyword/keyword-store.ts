import type { ActorContext, Statement } from "../../ports.ts";
import type { KeywordTokenizer } from "../terms/query-terms.ts";
import {
  createKeywordIndex,
  dropKeywordIndex,
  fillKeywordIndex,
  insertKeywordRow,
  lacksNames,
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
  let renewal: Promise<void> | undefined;

  const make = async (tokenizer: KeywordTokenizer): Promise<Statement[]> => {
    hasWords = false;
    return [
      ...createKeywordIndex(table, tokenizer),
      ...(await fillKeywordIndex(sql, table, tokenizer)),
    ];
  };

  function renew(tokenizer: KeywordTokenizer): Promise<void> {
    const renewing = async (): Promise<void> => {
      if (await lacksNames(sql, table)) await sql.batch(await make(tokenizer));
    };
    return (renewal ??= renewing().catch((error: unknown) => {
      // The next one who needs it tries again.
      renewal = undefined;
      throw error;
    }));
  }

  async function statementsOf(change: KeywordChange): Promise<Statement[]> {
    if (change.type === "item") {
      const { chunks, itemId, tokenizer } = change;
      await renew(tokenizer);
      const statements = [removeKeywordRows(table, itemId)];
      for (const [n, chunk] of chunks.entries()) {
        statements.push(insertKeywordRow(table, tokenizer, chunk));
        if (n % SLICE === SLICE - 1) await system.sleep(0);
      }
      return statements;
    }
    if (change.type === "make") return make(change.tokenizer);
    hasWords = false;
    return dropKeywordIndex(table);
  }

  return {
    all: (...query) => sql.all(...query),
    async words() {
      if (!hasWords) await sql.batch([makeWords(table)]);
      hasWords = true;
      return wordsOf(table);
    },
    renew,
    ready: () => undefined,
    commit: async (change, write) => write(change === null ? [] : await statementsOf(change)),
  };
}
