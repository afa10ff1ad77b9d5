import type { SqlError } from "../../../core/sql/sql-error.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type { Log, Sql, SqlRow, SqlValue } from "../../../core/ports.ts";
import { toSqlError } from "./sqlite-error.ts";
import { groupCommit, isBusy, LOCK_WAIT_MS } from "./sqlite-group.ts";
import type { SqliteConnection } from "./sqlite-library.ts";
import { statements } from "./sqlite-statements.ts";
import { type SpaceReserve, writeState } from "./write-state.ts";
import type { LongWriter } from "./writer-messages.ts";

/** Options that the journal databases of all platforms share. */
export interface JournalOptions {
  /** How long a lock held by another process is waited for, in ms. @default 5000 */
  readonly busyMs?: number | undefined;
  /** Logs when writes begin to fail, and when they succeed again. @default no log */
  readonly log?: Log | undefined;
  /** How often a write is tried while they fail, in ms. @default 1000 */
  readonly probeMs?: number | undefined;
  /** Space for deletions on a full disk. @default no space is kept, and every write is tried */
  readonly reserve?: SpaceReserve | undefined;
  /** Runs long queries on other threads. @default they run on the calling thread */
  readonly readers?: Readers | undefined;
  /** Commits long batches. @default the calling thread */
  readonly writer?: LongWriter | undefined;
}

/** Connections that only read, each on a thread of its own: they start when needed and end when idle. */
export interface Readers {
  /** Runs a query; null when no thread can be started. Owners whose queries wait take turns. */
  all(owner: string, sql: string, params?: readonly SqlValue[]): Promise<SqlRow[] | null>;
  /** Refuses what waits, lets what runs end, and closes the connections. */
  close(): Promise<void>;
}

/** How a platform commits. */
export interface Committing {
  /** Whether a commit waits for the disk, unless all of its batches are lazy. */
  readonly syncs: boolean;
  /** Runs work after what is queued has had its turn: its batches are committed together. */
  readonly nextTurn: (work: () => void) => void;
}

/** The journal database of a process, with what schema steps need: synchronous work. */
export interface SqliteDatabase extends Sql {
  /** Runs `work` in a transaction of its own, waiting for locks on the spot. */
  transaction<T>(work: () => T): T;
  /** Runs several statements without parameters. */
  exec(sql: string): void;
  rows(sql: string, params?: readonly SqlValue[]): SqlRow[];
  /** Notes that the disk refused a write elsewhere, e.g. when the database was opened. */
  refused(error: SqlError): void;
}

/**
 * Makes the journal over an open database. Statements run on the calling thread, and stop the process while they run; long
 * queries run on `readers`, long batches on `writer`. Batches of one turn of the event loop share one transaction; one that
 * fails takes no other with it. `all` sees what is committed: await a batch before reading what it wrote.
 */
export function journal(
  db: SqliteConnection,
  { syncs, nextTurn }: Committing,
  options: JournalOptions = {},
): SqliteDatabase {
  const busyMs = options.busyMs ?? 5000;
  db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
  const { log = () => undefined, probeMs, reserve, writer } = options;
  const writes = writeState(db, log, probeMs, reserve);
  const run = statements(db, writes.note);
  const group = groupCommit(db, run, { busyMs, syncs, nextTurn, writes, writer });

  return {
    dialect: "sqlite",
    failure: () => writes.failure(),
    refused(error) {
      writes.note(error);
    },
    async all(sql, params, { long } = {}) {
      if (long !== undefined && options.readers !== undefined) {
        const rows = await options.readers.all(long, sql, params);
        if (rows !== null) return rows;
      }
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
      await options.readers?.close();
      await group.drain();
      await writer?.close();
      writes.stop();
      if (db.isOpen) db.close();
    },
  };
}

function transaction<T>(db: SqliteConnection, work: () => T): T {
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
