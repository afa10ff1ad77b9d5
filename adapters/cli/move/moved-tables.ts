import type { Sql, SqlRow } from "../../../core/ports.ts";

/** The tables at one end of a move, in one transaction: what fails, or is stopped, leaves both ends as they were. */
export interface MovedTables extends Pick<Sql, "all" | "batch" | "dialect"> {
  /** Returns the names of all tables with rows of their own: full-text indexes are made from such rows. */
  tables(): Promise<string[]>;
  /** Runs a schema step, as core writes it. */
  applyStep(step: string): Promise<void>;
  /** Reads a table from its beginning, a few rows at a time. */
  read(table: string): AsyncGenerator<readonly SqlRow[]>;
}

/** Rows, and bytes in them, that are in memory at a time. */
const MOST_ROWS = 500;
const MOST_BYTES = 4_000_000;

/** Returns how many rows to read next, by the size of those read before. */
export function rowsAtATime(before: readonly SqlRow[]): number {
  if (before.length === 0) return 16;
  let bytes = 1;
  for (const row of before)
    for (const value of Object.values(row))
      bytes += typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
  return Math.max(1, Math.min(MOST_ROWS, Math.floor((MOST_BYTES * before.length) / bytes)));
}
