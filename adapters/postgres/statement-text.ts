import { SqlError } from "../../core/sql/sql-error.ts";

/** A statement as PostgreSQL takes it. */
export interface StatementText {
  /** With `$1`, `$2` … for the `?`s. */
  readonly text: string;
  readonly parameters: number;
  /** Whether connections keep it prepared. */
  readonly prepare: boolean;
}

/** Texts that are kept, and prepared: each takes some kilobytes of every connection of the server. */
const MOST_KEPT = 1000;
/** A parameter (`?`), or a text, name or comment, in which a `?` is not a parameter. */
const TOKENS = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/gu;

/**
 * All columns of a table. A prepared statement fails once another node has added a column, and the driver's own second attempt
 * may answer without rows (postgres.js 3.4.9, `retry`): these are never prepared.
 */
const ALL_COLUMNS = /(?:\.|\s)\*(?:\s+FROM\b|\s*,|\s*$)/iu;

/**
 * Translates statements, each once: those of core are some hundreds. Texts beyond a thousand, which callers' filters
 * make, are neither kept nor prepared.
 */
export function statementTexts(): (sql: string) => StatementText {
  const known = new Map<string, StatementText>();
  return (sql) => {
    const found = known.get(sql);
    if (found !== undefined) return found;
    const made = translate(sql, known.size < MOST_KEPT && !ALL_COLUMNS.test(sql));
    if (made.prepare) known.set(sql, made);
    return made;
  };
}

function translate(sql: string, prepare: boolean): StatementText {
  let parameters = 0;
  const text = sql.replaceAll(TOKENS, (token) => (token === "?" ? `$${(parameters += 1)}` : token));
  return { text, parameters, prepare };
}

/** Throws `invalid` unless there is one value for each parameter. */
export function checkCount(parameters: number, values: number): void {
  if (parameters !== values)
    throw new SqlError("invalid", `${values} values for ${parameters} parameters`);
}

/** SQLite's column types with their PostgreSQL names; text is ordered by its bytes, as SQLite orders it. */
const TYPES: readonly [RegExp, string][] = [
  [/\bBLOB\b/gu, "BYTEA"],
  [/\bINTEGER\b/gu, "BIGINT"],
  [/\bREAL\b/gu, "DOUBLE PRECISION"],
  [/(?<!\bAS )\bTEXT\b/gu, 'TEXT COLLATE "C"'],
];
const DEFINITION = /^\s*(?:CREATE\s+TABLE|ALTER\s+TABLE)\b/iu;

/** Translates schema statements: SQLite's column types become those of PostgreSQL. */
export function toPostgresSchema(sql: string): string {
  return sql
    .split(/(?<=;)/u)
    .map((one) =>
      DEFINITION.test(one)
        ? TYPES.reduce((text, [from, to]) => text.replaceAll(from, to), one)
        : one,
    )
    .join("");
}
