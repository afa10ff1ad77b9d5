import type { Log } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { unref } from "../work/unref.ts";
import { toSqlError } from "./sqlite-error.ts";
import type { SqliteConnection } from "./sqlite-library.ts";

/**
 * Space of a disk that is kept for the time when it is full: SQLite needs some to delete (it writes each changed page to its log
 * first), and to open a database at all. Known from other databases as a ballast file
 * (https://www.cockroachlabs.com/docs/stable/cluster-setup-troubleshooting#automatic-ballast-files).
 */
export interface SpaceReserve {
  /** Gives the space back to the disk; whether there was any. */
  release(): boolean;
  /** Takes the space, if the disk has room; whether it is there now. */
  restore(): Promise<boolean>;
}

/** Whether a database takes writes: it does not on a full or failing disk, or where it is read-only. */
export interface WriteState {
  /** Notes that a write failed. */
  readonly note: (error: SqlError) => void;
  /** Why writes fail at present; null while they do not. */
  failure(): string | null;
  /** The error for what would use up the space that is kept for deletions; null while nothing is held back. */
  held(): SqlError | null;
  /** Gives back to the disk what the log of committed deletions takes. */
  shrink(): void;
  stop(): void;
}

/** How often a write is tried while writes fail, in ms. */
const PROBE_MS = 1000;
/** Bytes of that write: more than free space in files that are there already usually takes. */
const PROBE_BYTES = 65_536;

/**
 * Logs one line when writes begin to fail and one when they succeed again. Meanwhile it tries a write of its own every
 * second, because a server that is not ready may get no other writes.
 */
export function writeState(
  db: SqliteConnection,
  log: Log,
  probeMs: number = PROBE_MS,
  reserve?: SpaceReserve,
): WriteState {
  let reason: string | null = null;
  let since = 0;
  let hasFailed = false;
  let timer: ReturnType<typeof setInterval> | undefined;

  let isProbing = false;

  const isOver = async (): Promise<boolean> => {
    const failed = hasFailed;
    hasFailed = false;
    shrink(db);
    if (reserve !== undefined && !(await reserve.restore())) return false;
    if (!db.isOpen) return false;
    const error = tryWrite(db);
    // A small write may fit where those of the requests do not.
    if (error === null && !failed) return true;
    reserve?.release();
    return false;
  };
  const probe = async (): Promise<void> => {
    if (isProbing) return;
    isProbing = true;
    const over = await isOver().finally(() => (isProbing = false));
    if (!over) return;
    clearInterval(timer);
    reason = null;
    log("info", "The database takes writes again", {
      after_seconds: Math.round((performance.now() - since) / 1000),
    });
  };
  return {
    note(error) {
      if (error.reason !== "full") return;
      error.isReported = true;
      hasFailed = true;
      if (reason !== null) return;
      reason = causeOf(error);
      since = performance.now();
      reserve?.release();
      log("error", "The database takes no writes: what stores something is answered 503", {
        reason,
      });
      timer = setInterval(() => void probe(), probeMs);
      unref(timer);
    },
    failure: () => reason,
    held() {
      if (reserve === undefined || reason === null) return null;
      return Object.assign(new SqlError("full", reason), { isReported: true });
    },
    shrink: () => shrink(db),
    stop() {
      clearInterval(timer);
    },
  };
}

/** Writes the log into the database and empties it: on a full disk both have to be small. */
function shrink(db: SqliteConnection): void {
  try {
    if (db.isOpen && !db.isTransaction) db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Readers hold it, or it does not fit: the next one may.
  }
}

/** Returns the database's own words, without the statement. */
function causeOf({ cause, message }: SqlError): string {
  return cause instanceof Error ? cause.message : message;
}

function tryWrite(db: SqliteConnection): SqlError | null {
  try {
    // As in a batch, page by page; the pages are free for other writes afterwards.
    db.exec(`BEGIN IMMEDIATE;
      CREATE TABLE IF NOT EXISTS causey_write_probe (content BLOB);
      INSERT INTO causey_write_probe VALUES (zeroblob(${PROBE_BYTES}));
      COMMIT`);
    db.exec("DROP TABLE causey_write_probe");
    return null;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    return toSqlError(error, "probe");
  }
}
