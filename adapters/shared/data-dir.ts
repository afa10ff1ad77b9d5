import { setTimeout as pause } from "node:timers/promises";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../../core/ports.ts";
import { DatabaseSync } from "./sqlite/database-sync.ts";
import { toSqlError } from "./sqlite/sqlite-error.ts";

/** The folder of a platform. */
export interface DataDir {
  /** Null for `":memory:"`, which no other process can share. */
  readonly path: string | null;
  /** Path of the journal database, which only the process that holds the folder may open. */
  readonly database: string;
  /** Folder for what else is kept, e.g. an unpacked browser; made by who uses it. */
  readonly state: string;
  /**
   * Tries to become the one process that holds the folder: an actor has one home. The lock is SQLite's, hence the
   * operating system's: it goes with the process, however that ends.
   */
  hold(): boolean;
  /** Whether what is held still is the folder at that path: it may be moved or deleted. True when nothing is held. */
  isInPlace(): boolean;
  /** Gives the folder up. */
  release(): void;
}

/**
 * Makes the folder, readable for its owner only. An existing folder keeps its mode (it may be shared), so the databases
 * have their own. `":memory:"` is private anyway. Throws a one-line error that names the folder when it cannot be used.
 */
export function openDataDir(path: string): DataDir {
  if (path === ":memory:") return temporary();
  const database = join(path, "causey.db");
  const file = join(path, "lock.db");
  let lock: Lock | undefined;
  const release = (): void => {
    lock?.db.close();
    lock = undefined;
  };
  return guarded(path, () => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    makePrivate(database);
    makePrivate(file);
    return {
      path,
      database,
      state: path,
      release,
      isInPlace: () => lock === undefined || lock.identity === identityOf(file),
      hold: () =>
        guarded(path, () => {
          const identity = identityOf(file);
          if (identity === null) throw new Error(`${file} is gone`);
          // Another folder may be at this path by now: a lock on the former one guards nothing.
          if (lock !== undefined && lock.identity !== identity) release();
          lock ??= { identity, db: new DatabaseSync(file) };
          return take(lock.db);
        }),
    };
  });
}

/** Makes a folder for what is kept beside a database that is elsewhere; `":memory:"` goes with the process. */
export function openStateDir(path: string): { readonly path: string; release(): void } {
  if (path === ":memory:") {
    const folder = temporary();
    return {
      path: folder.state,
      release: () => {
        folder.release();
      },
    };
  }
  guarded(path, () => mkdirSync(path, { recursive: true, mode: 0o700 }));
  return { path, release: () => undefined };
}

interface Lock {
  readonly identity: string;
  readonly db: DatabaseSync;
}

/** Identifies the file at a path, to tell it from another one there later; null when it is missing or cannot be read. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return null;
  }
}

/** How long a predecessor's end is waited for, in ms: it may take its grace to drain. */
export const PREDECESSOR_MS: number = 15_000;
/** When that is said, in ms. */
const TELL_MS = 2000;

/** Holds a folder that is not to be shared; rejects when a predecessor does not give it up in time. */
export async function lockExclusively(folder: DataDir, log: Log): Promise<void> {
  const until = performance.now() + PREDECESSOR_MS;
  const waiting = tellWaiting(folder, log, () => "");
  try {
    while (!folder.hold()) {
      if (performance.now() > until) throw inUse(folder);
      await pause(50);
    }
  } finally {
    waiting.over();
  }
}

/** Says once, if it takes a while, what a process waits for that cannot use the folder yet. */
export function tellWaiting(
  { path }: DataDir,
  log: Log,
  because: () => string,
): { isTold(): boolean; over(): void } {
  let isTold = false;
  const timer = setTimeout(() => {
    isTold = true;
    log("info", `Waiting for the process that holds the data directory${because()}`, { path });
  }, TELL_MS);
  return {
    isTold: () => isTold,
    over: () => {
      clearTimeout(timer);
    },
  };
}

/** Makes the error for a folder that another process holds, with the reason why this one cannot join it. */
export function inUse({ path }: DataDir, because = ""): Error {
  return new Error(
    `The data directory "${path ?? ""}" is in use by another process${because}: stop that, or choose another with --data-dir`,
  );
}

function take(lock: DatabaseSync): boolean {
  try {
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (toSqlError(error, "").reason === "busy") return false;
    throw error;
  }
}

/** Runs what uses the folder; throws one line that names it when that cannot be done. */
export function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The data directory "${path}" cannot be used (${reason}): choose another with --data-dir`;
    throw new Error(message, { cause: error });
  }
}

/**
 * Makes a file that only its owner reads; SQLite gives its journals the mode of their database. One that is there is not
 * opened: closing it would drop the locks that this process may have on it (fcntl(2), POSIX locks).
 */
function makePrivate(path: string): string {
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return path;
}

function temporary(): DataDir {
  const state = join(tmpdir(), `causey-${crypto.randomUUID()}`);
  return {
    path: null,
    database: ":memory:",
    state,
    hold: () => true,
    isInPlace: () => true,
    release: () => {
      rmSync(state, { recursive: true, force: true });
    },
  };
}
