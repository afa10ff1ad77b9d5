import type { SqlRow, SqlValue } from "../../../core/ports.ts";
import type { SqlErrorReason } from "../../../core/sql/sql-error.ts";

/** A message to a reader: a query, or the order to close its connection and end. */
export type ReaderMessage =
  | { readonly sql: string; readonly params: readonly SqlValue[] }
  | { readonly end: true };

export type ReaderAnswer =
  | { readonly rows: SqlRow[] }
  | { readonly reason: SqlErrorReason; readonly message: string };

/** A reader's report on its own state. */
export type ReaderState =
  | { readonly state: "ready" | "closed" }
  | { readonly state: "failed"; readonly error: string };
