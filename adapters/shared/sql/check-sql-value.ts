import { SqlError } from "../../../core/sql/sql-error.ts";

/**
 * Throws `invalid` for what no statement binds. Drivers differ in what they make of other values: `true` binds as 1 here and
 * fails there.
 */
export function checkSqlValue(value: unknown): void {
  if (typeof value === "string" || value === null || value instanceof Uint8Array) return;
  if (typeof value === "number") {
    if (Number.isNaN(value))
      throw new SqlError("invalid", "Cannot bind NaN: SQLite would store NULL");
    return;
  }
  if (typeof value === "bigint") {
    if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return;
    throw new SqlError(
      "invalid",
      "Cannot bind a bigint outside the safe integers: bind its text, and write CAST(? AS BIGINT)",
    );
  }
  const type = value instanceof Date ? "Date" : typeof value;
  throw new SqlError("invalid", `Cannot bind ${type}: encode it as text, number or bytes first`);
}
