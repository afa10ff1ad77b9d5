/**
 * Why a statement failed: `busy` and `full` are worth a retry later, the others are not. `busy`: the database is locked or
 * cannot be reached; nothing was committed. `full` is a database that takes no writes: its disk is full or fails, or it is
 * read-only. `fenced`: another process owns what this one would write. `unknown`: it may have been committed, so that a retry
 * could do it twice.
 */
export type SqlErrorReason = "constraint" | "busy" | "full" | "fenced" | "invalid" | "unknown";

/** The one error that `Sql` rejects with, whatever the driver. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly reason: SqlErrorReason;
  /** Whether the log has the failure already: then no second line is written. */
  isReported = false;

  constructor(reason: SqlErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
