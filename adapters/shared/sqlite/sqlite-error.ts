import { SqlError, type SqlErrorReason } from "../../../core/sql/sql-error.ts";

/** Result codes of SQLite (https://sqlite.org/rescode.html) that are not simply a wrong statement. */
const reasons: ReadonlyMap<number, SqlErrorReason> = new Map([
  [5, "busy"], // BUSY
  [6, "busy"], // LOCKED
  [7, "full"], // NOMEM
  [8, "full"], // READONLY
  [10, "full"], // IOERR: a full disk often shows itself as a failed write of the journal
  [13, "full"], // FULL
  [14, "full"], // CANTOPEN: the journal, as the database is open
  [17, "busy"], // SCHEMA
  [19, "constraint"], // CONSTRAINT
]);

/** Translates what a SQLite library threw; the statement is quoted, its values never are. */
export function toSqlError(error: unknown, sql: string): SqlError {
  if (error instanceof SqlError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const text = sql.trim().replaceAll(/\s+/gu, " ");
  const quoted = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  return new SqlError(reasonOf(error), `${message} in "${quoted}"`, { cause: error });
}

function reasonOf(error: unknown): SqlErrorReason {
  if (!(error instanceof Error)) return "invalid";
  // Deno's `exec` gives no code (2.9.6).
  if (!("errcode" in error)) return error.message === "database is locked" ? "busy" : "invalid";
  // The low byte is the primary code: the driver reports extended ones.
  return reasons.get(Number(error.errcode) & 0xff) ?? "invalid";
}
