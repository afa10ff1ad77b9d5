import type postgres from "postgres";
import type { SqlRow, StatementResult } from "../../core/ports.ts";

/** The npm package `postgres` (https://github.com/porsager/postgres). */
export type Driver = typeof postgres;
/** One client of it: a pool of connections. */
export type Client = postgres.Sql;
/** A statement that was handed to a client. */
export type PendingQuery = ReturnType<Client["unsafe"]>;
/** The rows of a statement, with its command and its count. */
export type QueryResult = Awaited<PendingQuery>;

/** Loads the driver, an optional package; throws the command that installs it. */
export async function loadDriver(): Promise<Driver> {
  try {
    return (await import("postgres")).default;
  } catch (error) {
    const message = 'A database needs the package "postgres": npm install postgres@3';
    throw new Error(message, { cause: error });
  }
}

const WRITES = /^(?:INSERT|UPDATE|DELETE|MERGE)$/u;

/** Returns the rows of an answer. */
export function rowsOf(answer: QueryResult): SqlRow[] {
  return Array.from(answer, (row) => row as SqlRow);
}

/** Returns an answer as the result of a statement: what only reads changes nothing. */
export function resultOf(answer: QueryResult): StatementResult {
  const changes = WRITES.test(answer.command) ? answer.count : 0;
  return { rows: rowsOf(answer), changes };
}
