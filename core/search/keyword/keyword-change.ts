import type { Sql, Statement } from "../../ports.ts";
import type { KeywordTokenizer } from "../terms/query-terms.ts";
import type { KeywordRow } from "./keyword-index.ts";

/** A change of the full-text table, which goes with one of the rows. */
export type KeywordChange =
  /** An item has other chunks. */
  | {
      readonly type: "item";
      readonly itemId: string;
      readonly chunks: readonly KeywordRow[];
      readonly tokenizer: KeywordTokenizer;
    }
  /** The table is made, from all chunks that there are. */
  | { readonly type: "make"; readonly tokenizer: KeywordTokenizer }
  | { readonly type: "drop" };

/** The full-text table of an instance and where it is. */
export interface KeywordStore {
  /** Runs a query on it. */
  readonly all: Sql["all"];
  /** Makes the table of its words, unless it is there; returns its name. */
  words(): Promise<string>;
  /** Makes the table again if a version before made it, which searched no names of items. Changes of items wait for it. */
  renew(tokenizer: KeywordTokenizer): Promise<void>;
  /** Resolves when it says what the rows say; rejects with 503 when that takes long. Undefined: it always does. */
  ready(): Promise<void> | undefined;
  /**
   * Commits a change of rows: `write` does that, together with the statements that it gets, which come first. Null changes
   * nothing of the table.
   */
  commit<T>(
    change: KeywordChange | null,
    write: (together: readonly Statement[]) => Promise<T>,
  ): Promise<T>;
}
