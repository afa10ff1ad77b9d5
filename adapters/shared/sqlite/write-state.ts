import type { Log } from "../../../core/ports.ts";
import type { SqlError } from "../../../core/sql-error.ts";
import { unref } from "../unref.ts";
import { toSqlError } from "./sqlite-error.ts";
import type { SqliteConnection } from "./sqlite-library.ts";

/** Whether a database takes writes: it does not on a full or failing disk, or where it is read-only. */
export interface WriteState {
  /** Notes that a write failed. */
  readonly note: (error: SqlError) => void;
  /** Why writes fail at present; null while they do not. */
  failure(): string | null;
  stop(): void;
}

/** How often a write is tried while writes fail, in ms. */
const PROBE_MS = 1000;
/** Bytes of that write: more than free space in files that are there already usually takes. */
const PROBE_BYTES = 65_536;

/**
 * Logs one line when writes begin to fail and one when they succeed again. Meanwhile it tries a write of its own every
 * second, because nobody may send any to a server that is not ready.
 */
export function writeState(db: SqliteConnection, log: Log, probeMs: number = PROBE_MS): WriteState {
  let reason: string | null = null;
  let since = 0;
  let hasFailed = false;
  let timer: ReturnType<typeof setInterval> | undefined;

  const probe = (): void => {
    const failed = hasFailed;
    hasFailed = false;
    const error = tryWrite(db);
    // A small write may fit where those of the requests do not.
    if (error !== null || failed) return;
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
      log("error", "The database takes no writes: what stores something is answered 503", {
        reason,
      });
      timer = setInterval(probe, probeMs);
      unref(timer);
    },
    failure: () => reason,
    stop() {
      clearInterval(timer);
    },
  };
}

/** The database's own words, without the statement. */
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
