import type { SqlRow, SqlValue } from "../../../core/ports.ts";
import type { SqlErrorReason } from "../../../core/sql-error.ts";

/** A part of a batch. Texts of statements cross once: a batch repeats a few of them thousands of times. */
export interface WriterPart {
  /** Texts that no part before has named; they are numbered in the order in which they come. */
  readonly texts: readonly string[];
  readonly statements: readonly (readonly [text: number, params: readonly SqlValue[]])[];
  /** Whether the batch is to be committed now. */
  readonly isLast: boolean;
}

/** What a writer is told: a part of a batch, or to close its connection and end. */
export type WriterMessage = WriterPart | { readonly end: true };

/** What a writer answers to a batch. */
export type WriterAnswer =
  | {
      /** Changed rows of each statement. */
      readonly changes: Float64Array<ArrayBuffer>;
      /** Rows of those statements that returned some. */
      readonly rows: readonly (readonly [statement: number, rows: SqlRow[]])[];
    }
  | { readonly reason: SqlErrorReason; readonly message: string };

/** What a writer tells of itself. */
export type WriterState =
  | { readonly state: "ready" | "closed" }
  | { readonly state: "failed"; readonly error: string };
