import { setImmediate, clearTimeout, setTimeout } from "node:timers";
import { DatabaseSync } from "./database-sync.ts";
import type { Log } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { openReaders } from "./readers.ts";
import { type JournalOptions, journal, type SqliteDatabase } from "./sqlite.ts";
import { RESERVE_BYTES } from "./space-reserve.ts";
import type { SpaceReserve } from "./write-state.ts";
import { toSqlError } from "./sqlite-error.ts";
import type { SqliteConnection } from "./sqlite-library.ts";
import { longWriter } from "./writer.ts";

export interface SqliteOptions extends JournalOptions {
  /** `FULL` survives a power cut, `NORMAL` only the death of the process. @default "FULL" */
  readonly synchronous?: "FULL" | "NORMAL" | undefined;
  /** How long free pages wait to be used again before they are returned, in ms. @default 10000 */
  readonly freeAfterMs?: number | undefined;
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
 * Opens the journal in a SQLite file (or `:memory:`) through `node:sqlite`, which Node, Deno and Bun all have. Batches
 * of one turn of the event loop share one fsync.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): SqliteDatabase {
  const { synchronous = "FULL", freeAfterMs = 10_000, reserve } = options;
  const { db, refused, isAlone } = openWithReserve(path, options);
  // `setImmediate` runs after the I/O of this turn: every request of the turn is in the group. A timer of 0 ms costs the
  // same CPU over HTTP on all three runtimes, and a lone caller a millisecond.
  const committing = { syncs: synchronous !== "NORMAL", nextTurn: setImmediate };
  const { log = () => undefined } = options;
  // A database in memory is visible to its own connection only.
  const readers = path === ":memory:" || isAlone ? undefined : openReaders(path, { log });
  const writer =
    readers === undefined ? undefined : longWriter(path, { log, pragmas: pragmasOf(synchronous) });
  const database = journal(db, committing, {
    ...options,
    readers: options.readers ?? readers,
    writer: options.writer ?? writer,
  });
  const freeing = returnFreePages(db, freeAfterMs);
  if (refused !== null) database.refused(refused);
  const keeping = reserve === undefined ? undefined : keepReserve(reserve, database, log);
  return {
    ...database,
    close() {
      freeing.stop();
      clearTimeout(keeping);
      return database.close();
    },
  };
}

interface OpenConnection {
  readonly db: DatabaseSync;
  /** Why it could be opened only with the space that is kept for that, or without others; null as a rule. */
  readonly refused: SqlError | null;
  /** Whether no other connection can open it, not even a reader. */
  readonly isAlone: boolean;
}

/**
 * Opens a database on a full disk too. SQLite cannot even read where the files beside it (`-wal`, `-shm`) do not fit: then the space
 * that is kept makes room for them. Where that is gone, the lock of a lone connection does without the second
 * (https://sqlite.org/wal.html#use_of_wal_without_shared_memory).
 */
function openWithReserve(path: string, options: SqliteOptions): OpenConnection {
  let refused: SqlError | null = null;
  for (const isAlone of [false, false, true]) {
    try {
      return { db: openConnection(path, options, isAlone), refused, isAlone };
    } catch (thrown) {
      refused = toSqlError(thrown, "open");
      if (refused.reason !== "full" || options.reserve === undefined || isAlone) throw thrown;
      options.reserve.release();
    }
  }
  throw refused ?? new SqlError("invalid", "Not opened");
}

/** Opens a file as every connection that writes needs it. */
export function openConnection(
  path: string,
  { busyMs = 5000, synchronous = "FULL" }: SqliteOptions = {},
  isAlone = false,
): DatabaseSync {
  const db = new DatabaseSync(path);
  try {
    db.exec(`PRAGMA busy_timeout = ${busyMs}`);
    if (isAlone) db.exec("PRAGMA locking_mode = EXCLUSIVE");
    // Only a file without tables takes it, and before anything else; in any other it would be a write.
    const [size] = db.prepare("PRAGMA page_count").all();
    if (size?.["page_count"] === 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    db.exec("PRAGMA journal_mode = WAL");
    db.exec(pragmasOf(synchronous));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Returns statements that set up a connection that writes. */
function pragmasOf(synchronous: string): string {
  return `PRAGMA synchronous = ${synchronous}; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864;
    PRAGMA temp_store = MEMORY; PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`;
}

/** How long a process runs before it takes space for a full disk, in ms: a short-lived one needs no space. */
const KEEP_AFTER_MS = 2000;

function keepReserve(
  reserve: SpaceReserve,
  database: SqliteDatabase,
  log: Log,
): ReturnType<typeof setTimeout> {
  const keep = async (): Promise<void> => {
    // On a disk that is full already, the look for writes takes it when it can.
    if ((await database.failure?.()) !== null || (await reserve.restore())) return;
    log("warn", "The disk has no room for the space that is kept for deletions when it is full", {
      bytes: RESERVE_BYTES,
    });
  };
  const timer = setTimeout(() => void keep(), KEEP_AFTER_MS);
  timer.unref();
  return timer;
}

/** Pages that are free before any are returned, 512 KB, and the share of the file that they have to be. */
const LEAST = 128;
const SHARE = 0.1;
/** Pages that are returned at a time, and the pause until the next, in ms: others go on in between. */
const SLICE = 64;
const PAUSE_MS = 20;
/** One at a time: Deno's `exec` takes only the first step of a statement, which returns one page. */
const RETURN = `BEGIN IMMEDIATE; ${"PRAGMA incremental_vacuum(1);".repeat(SLICE)} COMMIT`;

/**
 * Returns pages that deleted rows have left to the file system, once they have stayed unused for `everyMs`: a training
 * leaves as many as all vectors take. It waits for the locks of others no longer than a commit does. Does nothing for files
 * that were made without `auto_vacuum` (https://sqlite.org/pragma.html#pragma_incremental_vacuum). Runs until `stop()`.
 */
function returnFreePages(db: SqliteConnection, everyMs: number): { stop(): void } {
  let before = 0;
  let isReturning = false;
  const pragma = (name: string): number =>
    Number(Object.values(db.prepare(`PRAGMA ${name}`).all()[0] ?? {})[0] ?? 0);

  function look(): void {
    const free = pragma("freelist_count");
    const enough = free >= LEAST && free >= pragma("page_count") * SHARE;
    if (!isReturning) isReturning = enough && before >= LEAST && free >= before;
    else isReturning = free > 0;
    if (isReturning) db.exec(RETURN);
    // The pages left were used again, or cannot be returned.
    if (isReturning && pragma("freelist_count") >= free) isReturning = false;
    before = free;
  }
  function tick(): void {
    try {
      look();
    } catch {
      // Locked, full or failing: writes tell of that, and this can wait.
      isReturning = false;
      if (db.isTransaction) db.exec("ROLLBACK");
    }
    timer = setTimeout(tick, isReturning ? PAUSE_MS : everyMs);
    timer.unref();
  }
  let timer = setTimeout(tick, everyMs);
  timer.unref();
  return { stop: () => clearTimeout(timer) };
}
