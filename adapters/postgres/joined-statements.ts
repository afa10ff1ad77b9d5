import type { SqlValue, Statement, StatementResult } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { type QueryResult, resultOf } from "./driver.ts";
import { toParameter } from "./values.ts";

/** A statement, and the places in a transaction of those that it stands for. */
export interface JoinedStatement extends Statement {
  readonly stands: readonly number[];
}

/** A row of parameters alone; what returns rows, or may change one row twice, cannot be joined. */
const INSERT =
  /^\s*INSERT INTO ([a-z\d_]+)\s*\(([a-z\d_,\s]+)\)\s*VALUES\s*\([?\s,]+\)(\s*ON CONFLICT\s*\([a-z\d_,\s]+\)\s*DO NOTHING)?\s*$/u;
/** The text of `lockRows` in core. */
const LOCK = /^SELECT 1 AS locked FROM ([a-z\d_]+) WHERE ([a-z\d_]+) = \? FOR UPDATE$/u;
/** Characters of rows in one statement. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** Returns the statements of a transaction as they are, each for itself. */
export function eachAlone(statements: readonly Statement[]): JoinedStatement[] {
  return statements.map((one, at) => ({ ...one, stands: [at] }));
}

/**
 * Makes equal statements one, which takes its rows as JSON: one text whatever their number. Locks come first, in the order of their
 * rows; INSERTs are joined with those right behind them.
 */
export function joinStatements(statements: readonly Statement[]): JoinedStatement[] {
  const alone = eachAlone(statements);
  const locks = Map.groupBy(
    alone.filter(({ sql }) => LOCK.test(sql)),
    ({ sql }) => sql,
  );
  const out = [...locks.values()].map((equal) => joinLocks(equal));
  const rest = locks.size === 0 ? alone : alone.filter(({ sql }) => !locks.has(sql));
  for (let from = 0; from < rest.length;) {
    let end = from + 1;
    while (end < rest.length && rest[end]?.sql === rest[from]?.sql) end += 1;
    out.push(...joinInserts(rest.slice(from, end)));
    from = end;
  }
  return out;
}

/**
 * Returns the result of each statement of a transaction. Throws when a joined INSERT has not stored all of its rows: only
 * single statements show which rows were there already.
 */
export function resultsOf(
  statements: readonly JoinedStatement[],
  answers: readonly QueryResult[],
): StatementResult[] {
  const results: StatementResult[] = [];
  for (const [n, answer] of answers.entries()) {
    const { stands } = statements[n] ?? { stands: [] };
    const stores = answer.command === "INSERT";
    if (stands.length > 1 && stores && answer.count !== stands.length)
      throw new SqlError("constraint", "Some of the rows were there already");
    const one = stands.length > 1 ? { rows: [], changes: Number(stores) } : resultOf(answer);
    for (const at of stands) results[at] = one;
  }
  return results;
}

function joinLocks(equal: readonly JoinedStatement[]): JoinedStatement {
  const [, table = "", column = ""] = LOCK.exec(equal[0]?.sql ?? "") ?? [];
  const values = equal.map(({ params = [] }) => jsonOf(params[0] ?? null));
  return {
    sql: `SELECT 1 AS locked FROM ${table} WHERE ${column} = ANY (ARRAY(
      SELECT json_array_elements_text(CAST(? AS JSON)))) ORDER BY ${column} FOR UPDATE`,
    params: [`[${values.join(",")}]`],
    stands: equal.flatMap(({ stands }) => stands),
  };
}

function joinInserts(run: readonly JoinedStatement[]): readonly JoinedStatement[] {
  if (run.length === 1) return run;
  const [, table, list = "", conflict = ""] = INSERT.exec(run[0]?.sql ?? "") ?? [];
  const columns = list.split(",").map((column) => column.trim());
  const fits = ({ params = [] }: Statement): boolean =>
    params.length === columns.length && !params.some((value) => value instanceof Uint8Array);
  if (table === undefined || !run.every(fits)) return run;
  const sql = `INSERT INTO ${table} (${list}) SELECT ${list}
    FROM json_populate_recordset(CAST(NULL AS ${table}), CAST(? AS JSON))${conflict}`;
  const parts: { rows: string[]; size: number; stands: number[] }[] = [];
  for (const { params = [], stands } of run) {
    const row = `{${params.map((value, n) => `"${columns[n]}":${jsonOf(value)}`).join(",")}}`;
    let part = parts.at(-1);
    if (part === undefined || part.size + row.length > MOST_CHARACTERS)
      parts.push((part = { rows: [], size: 0, stands: [] }));
    part.rows.push(row);
    part.size += row.length;
    part.stands.push(...stands);
  }
  return parts.map(({ rows, stands }) => ({ sql, params: [`[${rows.join(",")}]`], stands }));
}

/** Each value as the text that the driver would send. JSON has no halves of characters; UTF-8 would not either. */
function jsonOf(value: SqlValue): string {
  const text = toParameter(value);
  return JSON.stringify(typeof text === "string" ? text.toWellFormed() : text);
}
