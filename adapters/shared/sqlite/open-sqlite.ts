import { setImmediate } from "node:timers";
import { DatabaseSync } from "../database-sync.ts";
import { returnFreePages } from "./free-pages.ts";
import { openReaders } from "./readers.ts";
import { type JournalOptions, journal, type SqliteDatabase } from "./sqlite.ts";

/** Options of {@link openSqlite}. */
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
  const { busyMs = 5000, synchronous = "FULL", freeAfterMs = 10_000 } = options;
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  // Only a file without tables takes it, and before anything else.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
  db.exec(`PRAGMA synchronous = ${synchronous}`);
  db.exec(
    "PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY",
  );
  db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  // `setImmediate` runs after the I/O of this turn: every request of the turn is in the group. A timer of 0 ms costs the
  // same CPU over HTTP on all three runtimes, and a lone caller a millisecond.
  const committing = { syncs: synchronous !== "NORMAL", nextTurn: setImmediate };
  const { log = () => undefined } = options;
  // Nobody else sees a database in memory.
  const readers = path === ":memory:" ? undefined : openReaders(path, { log });
  const database = journal(db, committing, { ...options, readers: options.readers ?? readers });
  const freeing = returnFreePages(db, freeAfterMs);
  return {
    ...database,
    close() {
      freeing.stop();
      return database.close();
    },
  };
}
