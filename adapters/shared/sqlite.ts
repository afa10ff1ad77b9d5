import { DatabaseSync } from "node:sqlite";
import { ApiError } from "../../core/http/api-error.ts";
import { SqlError } from "../../core/sql-error.ts";
import type { Sql, SqlRow, SqlValue, Statement, StatementResult } from "../../core/ports.ts";
import { statements, type Statements } from "./sqlite-statements.ts";
import { toSqlError } from "./sqlite-error.ts";

/** Options of {@link openSqlite}. */
export interface SqliteOptions {
  /** `FULL` survives a power cut, `NORMAL` only the death of the process. @default "FULL" */
  readonly synchronous?: "FULL" | "NORMAL" | undefined;
  /** How long a lock held by another process is waited for, in ms. @default 5000 */
  readonly busyMs?: number | undefined;
}

/** The journal database of a process, with what schema steps need: synchronous work. */
export interface SqliteDatabase extends Sql {
  /** Runs `work` in a transaction of its own, waiting for locks on the spot. */
  transaction<T>(work: () => T): T;
  /** Runs several statements without parameters. */
  exec(sql: string): void;
  rows(sql: string, params?: readonly SqlValue[]): SqlRow[];
}

interface Waiting {
  readonly batch: readonly Statement[];
  readonly since: number;
  resolve(results: StatementResult[]): void;
  reject(error: SqlError): void;
}

/** Batches in one transaction; the rest waits for the next turn so that requests get one in between. */
const GROUP_SIZE = 1000;
/** Blocks the event loop, so it is short; a longer wait happens in `setTimeout`. */
const LOCK_WAIT_MS = 20;

/**
 * Opens a SQLite file (or `:memory:`) through `node:sqlite`, which Node, Deno and Bun all have.
 * Statements run on the calling thread: a query that takes 50 ms stops the process for 50 ms.
 * Batches of one turn of the event loop share one transaction, hence one fsync, each in its own
 * savepoint. `all` sees what is committed: await a batch before reading what it wrote.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): SqliteDatabase {
  const db = new DatabaseSync(path);
  const busyMs = options.busyMs ?? 5000;
  db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  db.exec("PRAGMA journal_mode = WAL");
  db.exec(`PRAGMA synchronous = ${options.synchronous ?? "FULL"}`);
  db.exec(
    "PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY",
  );
  db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
  const run = statements(db);
  const group = groupCommit(db, run, busyMs);

  return {
    dialect: "sqlite",
    async all(sql, params) {
      const until = Date.now() + busyMs;
      for (;;) {
        try {
          return run.run(sql, params).rows;
        } catch (error) {
          if (!isBusy(error) || Date.now() > until) throw error;
          await new Promise((resolve) => setTimeout(resolve, LOCK_WAIT_MS));
        }
      }
    },
    batch: (batch) => group.add(batch),
    transaction(work) {
      db.exec(`PRAGMA busy_timeout = ${busyMs}`);
      try {
        return transaction(db, work);
      } catch (error) {
        throw error instanceof ApiError ? error : toSqlError(error, "transaction");
      } finally {
        db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
      }
    },
    exec(sql) {
      try {
        db.exec(sql);
      } catch (error) {
        throw toSqlError(error, sql);
      }
    },
    rows: (sql, params) => run.run(sql, params).rows,
    async close() {
      await group.drain();
      if (db.isOpen) db.close();
    },
  };
}

interface Group {
  add(batch: readonly Statement[]): Promise<StatementResult[]>;
  drain(): Promise<void>;
}

function groupCommit(db: DatabaseSync, run: Statements, busyMs: number): Group {
  let queue: Waiting[] = [];
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    const group = queue.slice(0, GROUP_SIZE);
    queue = queue.slice(GROUP_SIZE);
    const busy = commit(db, run, group);
    if (busy !== undefined) {
      const now = performance.now();
      for (const waiting of group) {
        if (now - waiting.since > busyMs) waiting.reject(busy);
      }
      // Those that may still wait go first again: their order is their callers' order.
      queue = [...group.filter((waiting) => now - waiting.since <= busyMs), ...queue];
    }
    if (queue.length > 0) schedule(busy === undefined ? 0 : LOCK_WAIT_MS);
  }
  function schedule(waitMs: number): void {
    if (scheduled) return;
    scheduled = true;
    // `setImmediate` runs after the I/O of this turn: every request of the turn is in the group. A timer of
    // 0 ms costs the same CPU over HTTP on all three runtimes, and a lone caller a millisecond.
    if (waitMs === 0) setImmediate(flush);
    else setTimeout(flush, waitMs);
  }
  return {
    add: (batch) =>
      new Promise((resolve, reject) => {
        if (!db.isOpen) {
          reject(new SqlError("invalid", "The database is closed"));
          return;
        }
        queue.push({ batch, since: performance.now(), resolve, reject });
        schedule(0);
      }),
    async drain() {
      while (queue.length > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    },
  };
}

/** Commits the group and settles its promises, except when the database is locked: then it settles none. */
function commit(
  db: DatabaseSync,
  run: Statements,
  group: readonly Waiting[],
): SqlError | undefined {
  const settle: (() => void)[] = [];
  let began = false;
  try {
    run.run("BEGIN IMMEDIATE", undefined);
    began = true;
    for (const waiting of group) settle.push(runBatch(db, run, waiting, group.length > 1));
    if (db.isTransaction) run.run("COMMIT", undefined);
  } catch (thrown) {
    const error = toSqlError(thrown, "COMMIT");
    // SQLite itself rolls everything back on some errors: https://sqlite.org/lang_transaction.html#immediate
    const lost = began && !db.isTransaction;
    if (db.isTransaction) db.exec("ROLLBACK");
    if (isBusy(error)) return error;
    // The batch that hit the full disk took the others with it: let each try alone.
    if (lost && group.length > 1) for (const waiting of group) commitAlone(db, run, waiting);
    else for (const waiting of group) waiting.reject(error);
    return undefined;
  }
  for (const one of settle) one();
  return undefined;
}

function commitAlone(db: DatabaseSync, run: Statements, waiting: Waiting): void {
  const busy = commit(db, run, [waiting]);
  if (busy !== undefined) waiting.reject(busy);
}

/** Runs one batch and says how to settle it once the group is committed. */
function runBatch(
  db: DatabaseSync,
  run: Statements,
  waiting: Waiting,
  shared: boolean,
): () => void {
  if (shared) run.run("SAVEPOINT batch", undefined);
  try {
    const results = waiting.batch.map(({ sql, params }) => run.run(sql, params));
    if (shared) run.run("RELEASE batch", undefined);
    return () => {
      waiting.resolve(results);
    };
  } catch (thrown) {
    if (!db.isTransaction) throw thrown;
    db.exec(shared ? "ROLLBACK TO batch; RELEASE batch" : "ROLLBACK");
    return () => {
      waiting.reject(toSqlError(thrown, "batch"));
    };
  }
}

function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

function isBusy(error: unknown): error is SqlError {
  return error instanceof SqlError && error.reason === "busy";
}
