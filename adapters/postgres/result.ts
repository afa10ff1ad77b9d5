import type { SqlRow, StatementResult } from "../../core/ports.ts";
import type { QueryResult } from "./driver.ts";

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
