import type { SqlRow, SqlValue, Statement, StatementResult } from "../../../core/ports.ts";
import type { SqlErrorReason } from "../../../core/sql/sql-error.ts";

/** A connection on a thread of its own that commits one long batch at a time; it starts when needed and ends when idle. */
export interface LongWriter {
  /** Commits a batch; null when no thread can be started. Call it again only after that. */
  write(batch: readonly Statement[]): Promise<StatementResult[] | null>;
  close(): Promise<void>;
}

/** A part of a batch. Texts of statements cross once: a batch repeats a few of them thousands of times. */
export interface WriterPart {
  /** Texts that no part before has named; they are numbered in the order in which they come. */
  readonly texts: readonly string[];
  readonly statements: readonly (readonly [text: number, params: readonly SqlValue[]])[];
  /** Whether the batch is to be committed now. */
  readonly isLast: boolean;
}

/** A message to a writer: a part of a batch, or the order to close its connection and end. */
export type WriterMessage = WriterPart | { readonly end: true };

export type WriterAnswer =
  | {
      /** Changed rows of each statement. */
      readonly changes: Float64Array<ArrayBuffer>;
      /** Rows of those statements that returned some. */
      readonly rows: readonly (readonly [statement: number, rows: SqlRow[]])[];
    }
  | { readonly reason: SqlErrorReason; readonly message: string };

/** A writer's report on its own state. */
export type WriterState =
  | { readonly state: "ready" | "closed" }
  | { readonly state: "failed"; readonly error: string };

/** About how many bytes a value takes. */
export function valueSize(value: SqlValue): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
}
