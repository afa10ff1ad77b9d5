import type { SqlRow, SqlValue } from "../../../core/ports.ts";

/**
 * An open database of a SQLite library, as far as the code here needs it: `node:sqlite` has these members by itself. Errors
 * thrown by it have SQLite's result code as `errcode`.
 */
export interface SqliteConnection {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  /** Runs several statements without parameters. */
  exec(sql: string): void;
  prepare(sql: string): PreparedStatement;
  close(): void;
}

/** A statement that may run many times. */
export interface PreparedStatement {
  /** Empty for a statement that returns no rows. */
  columns(): readonly unknown[];
  all(...params: SqlValue[]): SqlRow[];
  run(...params: SqlValue[]): { readonly changes: number | bigint };
  /** Returns whole numbers as bigints. @default they come as numbers, however large */
  setReadBigInts?(enabled: boolean): void;
  /** Frees its memory. @default the collector does */
  close?(): void;
}
