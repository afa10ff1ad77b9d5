import type { SqlRow, SqlValue } from "../../../core/ports.ts";
import type { SqlErrorReason } from "../../../core/sql/sql-error.ts";

/** What a reader is told: a query, or to close its connection and end. */
export type ReaderMessage =
  | { readonly sql: string; readonly params: readonly SqlValue[] }
  | { readonly end: true };

/** What a reader answers. */
export type ReaderAnswer =
  | { readonly rows: SqlRow[] }
  | { readonly reason: SqlErrorReason; readonly message: string };

/** What a reader tells of itself. */
export type ReaderState =
  | { readonly state: "ready" | "closed" }
  | { readonly state: "failed"; readonly error: string };
