import { SqlError } from "../../../core/sql/sql-error.ts";
import type { SqlRow, SqlValue, StatementResult } from "../../../core/ports.ts";
import { checkSqlValue } from "../sql/check-sql-value.ts";
import { toStoredText, withReadTexts } from "../sql/stored-text.ts";
import { toSqlError } from "./sqlite-error.ts";
import type { PreparedStatement, SqliteConnection } from "./sqlite-library.ts";

/** Prepared statements kept per database. */
const CACHE_SIZE = 500;

interface Prepared {
  readonly statement: PreparedStatement;
  /** Number of `?`; -1 when the statement numbers its parameters itself. */
  readonly parameters: number;
  readonly returnsRows: boolean;
  readonly writes: boolean;
}

/** Runs single statements, each prepared once and kept while it is used. */
export interface Statements {
  run(sql: string, params: readonly SqlValue[] | undefined): StatementResult;
}

/**
 * Caches the statements of one database, and reports errors to `onError`; those that were not used for a while are dropped.
 */
export function statements(
  db: SqliteConnection,
  onError: (error: SqlError) => void = () => undefined,
): Statements {
  // Two generations: a hit in the younger one, the usual case, changes nothing.
  let recent = new Map<string, Prepared>();
  let older = new Map<string, Prepared>();

  function prepared(sql: string): Prepared {
    const known = recent.get(sql);
    if (known !== undefined) return known;
    const found = older.get(sql) ?? prepare(db, sql);
    if (recent.size >= CACHE_SIZE / 2) {
      for (const [text, { statement }] of older)
        if (text !== sql && !recent.has(text)) statement.close?.();
      older = recent;
      recent = new Map();
    }
    recent.set(sql, found);
    return found;
  }

  return {
    run(sql, params = []) {
      try {
        const { statement, parameters, returnsRows, writes } = prepared(sql);
        if (parameters !== -1 && parameters !== params.length) {
          throw new SqlError("invalid", `${params.length} values for ${parameters} parameters`);
        }
        const values = params.map(toParameter);
        if (!returnsRows) return { rows: [], changes: Number(statement.run(...values).changes) };
        const rows = withReadTexts(readRows(statement, values, writes));
        return { rows, changes: writes ? rows.length : 0 };
      } catch (thrown) {
        const error = toSqlError(thrown, sql);
        onError(error);
        throw error;
      }
    },
  };
}

function toParameter(value: SqlValue): SqlValue {
  checkSqlValue(value);
  return typeof value === "string" ? toStoredText(value) : value;
}

/**
 * Returns the rows of a statement. `node:sqlite` throws at a whole number beyond 2^53, and would let one such row hide all
 * others: they are read once more, and the number is rounded. A statement that writes runs once, so all of its numbers are
 * read with care.
 */
function readRows(
  statement: PreparedStatement,
  params: readonly SqlValue[],
  writes: boolean,
): SqlRow[] {
  if (writes) return readRounded(statement, params);
  try {
    return statement.all(...params);
  } catch (error) {
    if (!isOutOfRange(error)) throw error;
    return readRounded(statement, params);
  }
}

function isOutOfRange(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";
}

function readRounded(statement: PreparedStatement, params: readonly SqlValue[]): SqlRow[] {
  statement.setReadBigInts?.(true);
  try {
    return statement.all(...params).map(rounded);
  } finally {
    statement.setReadBigInts?.(false);
  }
}

function rounded(row: SqlRow): SqlRow {
  for (const name in row) if (typeof row[name] === "bigint") row[name] = Number(row[name]);
  return row;
}

/** Texts, quoted names and comments. */
const QUOTED = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\//gu;
const QUOTED_OR_LIMIT = new RegExp(`${QUOTED.source}|(\\blimit)(?=\\s*\\?)`, "giu");

/**
 * Has a statement planned once. SQLite reads the value of a bare `LIMIT ?` while it plans, and plans the statement again each
 * time that a value is bound. It does not look behind a sign.
 */
function plannedOnce(sql: string): string {
  return sql.replaceAll(QUOTED_OR_LIMIT, (found, limit?: string) =>
    limit === undefined ? found : `${limit} +`,
  );
}

function prepare(db: SqliteConnection, sql: string): Prepared {
  const bare = sql.replaceAll(QUOTED, " ").trim();
  // SQLite would run the first statement and silently drop the rest.
  if (/;\s*\S/u.test(bare) && !/^create\s+(?:temp\w*\s+)?trigger\b/iu.test(bare)) {
    throw new SqlError("invalid", `One statement at a time: "${bare.slice(0, 120)}"`);
  }
  const statement = db.prepare(plannedOnce(sql));
  const returnsRows = statement.columns().length > 0;
  // Node 26 throws, after the statement has run, if the last row id is beyond 2^53. Full text leaves such ids.
  if (!returnsRows) statement.setReadBigInts?.(true);
  return {
    statement,
    parameters: /\?\d|[:@$]\w/u.test(bare) ? -1 : bare.split("?").length - 1,
    returnsRows,
    writes: /\breturning\b/iu.test(bare),
  };
}
