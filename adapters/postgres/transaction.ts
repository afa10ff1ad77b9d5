import type { Statement, StatementResult } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import type { QueryResult } from "./driver.ts";
import { isUnreachable } from "./postgres-error.ts";
import { resultOf } from "./result.ts";
import type { DatabaseConnection } from "./database-connection.ts";

/**
 * The lease that a process needs for its writes to count. Each transaction checks it: the statement returns a row while the
 * process has the lease, and locks that row (`FOR SHARE`).
 */
export interface Fence {
  /** The same for equal statements: one check serves all batches of a transaction. */
  readonly key: string;
  readonly statement: Statement;
}

/** A batch, and who is told of its end. */
export interface Waiting {
  /** Whose rows it writes. */
  readonly owner: string;
  readonly batch: readonly Statement[];
  readonly fence: Fence | undefined;
  attempts: number;
  resolve(results: StatementResult[]): void;
  reject(error: SqlError): void;
}

/**
 * The server undoes what a process does not finish: one that stands still must not hold locks that others wait for. They
 * are settings of the transaction, as a pooler passes the session on.
 */
const BEGIN = `BEGIN; SET LOCAL lock_timeout = 10000; SET LOCAL statement_timeout = 30000;
  SET LOCAL idle_in_transaction_session_timeout = 10000`;

/** The end of a group's transaction. */
export type CommitOutcome =
  | { readonly type: "committed" }
  /** `failed`: by a statement. `lost`: the connection is gone, and nothing committed. `unknown`: it is gone, and that may be. */
  | { readonly type: "failed" | "lost" | "unknown"; readonly error: unknown };

/**
 * Makes the group's batches one transaction. COMMIT goes out only when all of its statements are answered: until then a lost
 * connection has undone everything, and what the driver repeats by itself falls into the failed transaction.
 */
export async function commitTogether(
  connection: DatabaseConnection,
  group: readonly Waiting[],
): Promise<CommitOutcome> {
  const fences = new Map(group.flatMap(({ fence }) => (fence ? [[fence.key, fence]] : [])));
  const checks = [...fences.values()].map(({ statement }) => statement);
  try {
    const begin: Statement = { sql: BEGIN };
    const statements = group.flatMap(({ batch }) => batch);
    const [, ...answers] = await connection.send([begin, ...checks, ...statements]);
    if (answers.slice(0, checks.length).some((answer) => answer.length === 0))
      throw new SqlError("fenced", "This process does not own what it writes any more");
    return await commit(connection, group, answers.slice(checks.length));
  } catch (error) {
    if (isUnreachable(error)) {
      connection.close();
      return { type: "lost", error };
    }
    await connection.run("ROLLBACK").catch(() => {
      connection.close();
    });
    return { type: "failed", error };
  }
}

async function commit(
  connection: DatabaseConnection,
  group: readonly Waiting[],
  answers: readonly QueryResult[],
): Promise<CommitOutcome> {
  try {
    await connection.run("COMMIT");
  } catch (error) {
    if (connection.isOpen && !isUnreachable(error)) throw error;
    connection.close();
    return { type: "unknown", error };
  }
  let at = 0;
  for (const one of group) {
    const { batch } = one;
    one.resolve(answers.slice(at, at + batch.length).map(resultOf));
    at += batch.length;
  }
  return { type: "committed" };
}
