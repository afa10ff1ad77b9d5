import type { SqlRow, SqlValue, Statement, StatementResult } from "../../core/ports.ts";
import { sqlErrorOf } from "./postgres-error.ts";
import { resultOf, rowsOf } from "./driver.ts";
import type { DatabaseConnection } from "./database-connection.ts";

/** The transaction of a {@link RunSession}. */
export interface Session {
  /** Runs one statement. */
  all(sql: string, params?: readonly SqlValue[]): Promise<SqlRow[]>;
  /** Sends statements without waiting in between. */
  batch(statements: readonly Statement[]): Promise<StatementResult[]>;
  /** Runs several statements without parameters. */
  exec(sql: string): Promise<void>;
}

/** Runs work in a transaction of its own connection; what it throws undoes everything. */
export type RunSession = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

/** A migration may rewrite a large table; what waits for a lock gives way to those that hold it. */
const BEGIN =
  "BEGIN; SET LOCAL lock_timeout = 20000; SET LOCAL idle_in_transaction_session_timeout = 60000";

/** Makes sessions over connections that `open` makes. */
export function databaseSession(open: () => Promise<DatabaseConnection>): RunSession {
  return async (work) => {
    const connection = await open();
    try {
      await connection.run(BEGIN);
      const result = await work({
        async all(sql, params = []) {
          try {
            const [answer] = await connection.send([{ sql, params }]);
            return answer === undefined ? [] : rowsOf(answer);
          } catch (error) {
            throw sqlErrorOf(error, sql);
          }
        },
        async batch(statements) {
          try {
            return (await connection.send(statements)).map(resultOf);
          } catch (error) {
            throw sqlErrorOf(error, statements[0]?.sql ?? "");
          }
        },
        async exec(sql) {
          try {
            await connection.run(sql);
          } catch (error) {
            throw sqlErrorOf(error, sql);
          }
        },
      });
      await connection.run("COMMIT");
      return result;
    } finally {
      // Undoes what is not committed.
      connection.close();
    }
  };
}
