/** Why a statement failed: `busy` and `full` are worth a retry later, the others are not. */
export type SqlErrorReason = "constraint" | "busy" | "full" | "invalid";

/** The one error that `Sql` rejects with, whatever the driver. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly reason: SqlErrorReason;

  constructor(reason: SqlErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
