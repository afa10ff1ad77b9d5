import { DatabaseSync } from "../database-sync.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Log, Sql, SqlRow, SqlValue } from "../../../core/ports.ts";
import { toSqlError } from "./sqlite-error.ts";
import { groupCommit, isBusy, LOCK_WAIT_MS } from "./sqlite-group.ts";
import { statements } from "./sqlite-statements.ts";
import { writeState } from "./write-state.ts";

/** Options of {@link openSqlite}. */
export interface SqliteOptions {
  /** `FULL` survives a power cut, `NORMAL` only the death of the process. @default "FULL" */
  readonly synchronous?: "FULL" | "NORMAL" | undefined;
  /** How long a lock held by another process is waited for, in ms. @default 5000 */
  readonly busyMs?: number | undefined;
  /** Hears when writes begin to fail, and when they succeed again. @default nobody */
  readonly log?: Log | undefined;
  /** How often a write is tried while they fail, in ms. @default 1000 */
  readonly probeMs?: number | undefined;
}

/** The journal database of a process, with what schema steps need: synchronous work. */
export interface SqliteDatabase extends Sql {
  /** Runs `work` in a transaction of its own, waiting for locks on the spot. */
  transaction<T>(work: () => T): T;
  /** Runs several statements without parameters. */
  exec(sql: string): void;
  rows(sql: string, params?: readonly SqlValue[]): SqlRow[];
}

/**
 * Pages that stay in memory, in KiB (negative: https://sqlite.org/pragma.html#pragma_cache_size). Events go to one
 * place of each index per entity, which the default of 2 MB does not hold.
 */
const CACHE_KIB = 16_384;
/**
 * Pages of the write-ahead log between checkpoints. The pages of busy entities are written to the log again and
 * again, and to the database once per checkpoint: four times the default costs a fifth less CPU per event.
 */
const CHECKPOINT_PAGES = 4000;

/**
 * Opens a SQLite file (or `:memory:`) through `node:sqlite`, which Node, Deno and Bun all have.
 * Statements run on the calling thread: a query that takes 50 ms stops the process for 50 ms.
 * Batches of one turn of the event loop share one transaction, hence one fsync; one that fails takes no
 * other with it. `all` sees what is committed: await a batch before reading what it wrote.
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
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
  const writes = writeState(db, options.log ?? (() => undefined), options.probeMs);
  const run = statements(db, writes.note);
  const group = groupCommit(db, run, { busyMs, syncs: options.synchronous !== "NORMAL" });

  return {
    dialect: "sqlite",
    failure: () => writes.failure(),
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
    batch: (batch, how) => group.add(batch, how),
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
      writes.stop();
      if (db.isOpen) db.close();
    },
  };
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
