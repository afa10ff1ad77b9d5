import type { Sql, SqlValue, Statement } from "../ports.ts";

/**
 * The condition that a column holds a bound text, letter case ignored; the text must not be empty. Not by LIKE: its
 * patterns are bounded, on Durable Objects to 50 bytes, and end at a NUL.
 */
export function contains(column: string): string {
  return `(REPLACE(LOWER(${column}), LOWER(?), '') <> LOWER(${column}))`;
}

/** Joins conditions as a balanced tree: the depth of an expression is bounded, on Durable Objects to 100. */
export function joinConditions(conditions: readonly string[], by: "AND" | "OR"): string {
  if (conditions.length <= 4) return conditions.join(` ${by} `);
  const half = conditions.length >> 1;
  return `(${joinConditions(conditions.slice(0, half), by)}) ${by} (${joinConditions(conditions.slice(half), by)})`;
}

/**
 * Statements that lock the rows with a value until their transaction ends: the next statements then see what others have
 * committed before. SQLite has one writer and needs no such lock. Their results are without use: a database may lock for many at once.
 */
export function lockRows(
  { dialect }: Pick<Sql, "dialect">,
  table: string,
  column: string,
  value: SqlValue,
): Statement[] {
  if (dialect === "sqlite") return [];
  const sql = `SELECT 1 AS locked FROM ${table} WHERE ${column} = ? FOR UPDATE`;
  return [{ sql, params: [value] }];
}

/**
 * The condition that a column holds one of many values, bound as one parameter that {@link asSet} makes: Durable
 * Objects take at most 100 parameters a statement. `json_each` lists an object's keys in SQLite and in PostgreSQL; only
 * SQLite lists an array's values.
 */
export function isOneOf(column: string, type: "BIGINT" | "DOUBLE PRECISION" | "TEXT"): string {
  return `${column} IN (SELECT CAST(key AS ${type}) FROM json_each(?))`;
}

/** The parameter of {@link isOneOf}: a JSON object whose keys are the values. */
export function asSet(values: readonly (string | number)[]): string {
  return `{${values.map((value) => (typeof value === "number" ? `"${value}":0` : `${JSON.stringify(value)}:0`)).join(",")}}`;
}

/**
 * The condition that a column holds one of some texts, however many, with its parameters. One text is compared as it is:
 * that is the usual case of frequent statements.
 */
export function isAmong(
  column: string,
  values: readonly string[],
): { readonly sql: string; readonly params: SqlValue[] } {
  return values.length === 1
    ? { sql: `${column} = ?`, params: [...values] }
    : { sql: isOneOf(column, "TEXT"), params: [asSet(values)] };
}

/** Quotes a name of a table or a column. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
