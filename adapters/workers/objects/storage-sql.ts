import { BoundedMap } from "../../../core/work/bounded-map.ts";
import { SqlError, type SqlErrorReason } from "../../../core/sql/sql-error.ts";
import type { ObjectWrites } from "./write-state.ts";
import type { Sql, SqlRow, SqlValue, Statement, StatementResult } from "../../../core/ports.ts";

/** Bound of the memory for statements already checked. */
const KNOWN_STATEMENTS = 500;

/** The database of one Durable Object, with what the adapter itself needs beside the port. */
export interface StorageSql extends Sql {
  /** `batch` without a promise: what follows in the same turn is committed together with it. */
  batchNow(statements: readonly Statement[]): StatementResult[];
}

/**
 * `Sql` over the SQLite database of a Durable Object. Statements run at once; the object's output gate holds
 * back every reply, frame and request until the commit is durable, so "resolved" means "will be durable
 * before anybody outside can know".
 */
export function storageSql(storage: DurableObjectStorage, writes: ObjectWrites): StorageSql {
  /** Statements that passed, and whether they only read: SQL is code here, so the texts are few. */
  const known = new BoundedMap<string, boolean>(KNOWN_STATEMENTS);

  function run(sql: string, params: readonly SqlValue[] = []): StatementResult {
    try {
      const reads = known.get(sql) ?? learn(sql);
      const before = reads ? 0 : totalChanges();
      const cursor = storage.sql.exec(sql, ...params.map(toStorage));
      const returnsRows = cursor.columnNames.length > 0;
      const rows = cursor.toArray().map(fromStorage);
      if (reads || totalChanges() === before) return { rows, changes: 0 };
      return { rows, changes: returnsRows ? rows.length : count("SELECT changes() AS n") };
    } catch (error) {
      throw noted(toSqlError(error, sql), writes);
    }
  }
  function learn(sql: string): boolean {
    const reads = isRead(sql);
    known.set(sql, reads);
    return reads;
  }
  function count(sql: string): number {
    return Number(storage.sql.exec(sql).one()["n"]);
  }
  function totalChanges(): number {
    return count("SELECT total_changes() AS n");
  }
  function batchNow(statements: readonly Statement[]): StatementResult[] {
    const results = storage.transactionSync(() =>
      statements.map(({ sql, params }) => run(sql, params)),
    );
    // Asked first: this runs for every batch, and a failure is rare.
    if (writes.failure() !== null)
      void storage.sync().then(
        () => {
          writes.committed();
        },
        () => undefined,
      );
    return results;
  }
  return {
    dialect: "sqlite",
    async failure() {
      const failure = writes.failure();
      if (failure !== "unknown") return failure?.reason ?? null;
      try {
        tryWrite(storage);
        await storage.sync();
      } catch (error) {
        return causeOf(noted(toSqlError(error, "probe"), writes));
      }
      writes.committed();
      return null;
    },
    all: async (sql, params) => run(sql, params).rows,
    batch: async (statements) => batchNow(statements),
    batchNow,
    // The object owns its database: it closes with the object.
    close: () => Promise.resolve(),
  };
}

/** Refuses several statements (workerd would run them all); says whether the one can change nothing. */
function isRead(sql: string): boolean {
  const bare = sql.replaceAll(/'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\//gu, " ").trim();
  if (/;\s*\S/u.test(bare) && !/^create\s+(?:temp\w*\s+)?trigger\b/iu.test(bare)) {
    throw new SqlError("invalid", `One statement at a time: "${bare.slice(0, 120)}"`);
  }
  return /^select\b/iu.test(bare);
}

/** workerd binds `true` as text and `undefined` as NULL, and no bigint at all; the port has one rule for all. */
function toStorage(value: SqlValue): SqlStorageValue {
  if (typeof value === "string" || value === null) return value;
  if (value instanceof Uint8Array) return value.slice().buffer;
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) return Number(value);
  throw new SqlError(
    "invalid",
    `Cannot bind ${describe(value)}: encode it as text, number or bytes first`,
  );
}

function describe(value: unknown): string {
  if (typeof value === "bigint") return "a bigint outside the safe integers";
  if (typeof value === "number") return "NaN";
  return value instanceof Date ? "Date" : typeof value;
}

function fromStorage(row: Record<string, SqlStorageValue>): SqlRow {
  const out: SqlRow = {};
  for (const [name, value] of Object.entries(row)) {
    out[name] = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  }
  return out;
}

/** workerd ends the message with the name of SQLite's result code. */
const reasons: readonly [RegExp, SqlErrorReason][] = [
  [/\bSQLITE_CONSTRAINT/u, "constraint"],
  [/\bSQLITE_(?:BUSY|LOCKED)/u, "busy"],
  [/\bSQLITE_(?:FULL|NOMEM|IOERR)/u, "full"],
];

/**
 * Turns an error that the object's storage threw outside of {@link storageSql}, e.g. at its own settings, into a `SqlError`
 * if it took no write. Other errors are returned unchanged.
 */
export function refusedWrite(error: unknown, writes: ObjectWrites): unknown {
  if (error instanceof SqlError) return error;
  const found = toSqlError(error, "the object's settings");
  return found.reason === "full" ? noted(found, writes) : error;
}

/** Reports a write that the disk refused. */
function noted(error: SqlError, writes: ObjectWrites): SqlError {
  if (error.reason !== "full" || error.isReported) return error;
  error.isReported = true;
  writes.refused(causeOf(error));
  return error;
}

/** SQLite's own words, without the statement. */
function causeOf({ cause, message }: SqlError): string {
  return cause instanceof Error ? cause.message : message;
}

/** Bytes of a write that only tries: more than free space in files that are there already usually takes. */
const PROBE_BYTES = 65_536;

function tryWrite(storage: DurableObjectStorage): void {
  storage.transactionSync(() => {
    const { sql } = storage;
    sql.exec("CREATE TABLE IF NOT EXISTS causey_write_probe (content BLOB)");
    sql.exec(`INSERT INTO causey_write_probe VALUES (zeroblob(${PROBE_BYTES}))`);
    // The pages are free for other writes afterwards.
    sql.exec("DROP TABLE causey_write_probe");
  });
}

function toSqlError(error: unknown, sql: string): SqlError {
  if (error instanceof SqlError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const text = sql.trim().replaceAll(/\s+/gu, " ").slice(0, 120);
  const reason = reasons.find(([pattern]) => pattern.test(message))?.[1] ?? "invalid";
  return new SqlError(reason, `${message} in "${text}"`, { cause: error });
}
