import { chmodSync, closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { toSqlError } from "./sqlite-error.ts";

/** The folder of a platform, held by this process alone. */
export interface DataDir {
  /** Path of the journal database. */
  readonly database: string;
  /** Folder for what else is kept, e.g. an unpacked browser; made by who uses it. */
  readonly state: string;
  release(): void;
}

/** How long a predecessor that shuts down is waited for, in ms. */
const WAIT_MS = 5000;

/**
 * Makes the folder, for its owner's eyes only, and locks it: an actor has one home, so two processes over
 * one folder would each believe that they are it. The lock is SQLite's, hence the operating system's: it
 * goes with the process, however that ends. A folder that was there keeps its mode (it may be shared), so the
 * databases have their own. `":memory:"` is nobody else's anyway.
 */
export async function openDataDir(path: string): Promise<DataDir> {
  if (path === ":memory:") return temporary();
  const database = join(path, "causey.db");
  let lock: DatabaseSync;
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    makePrivate(database);
    lock = new DatabaseSync(makePrivate(join(path, "lock.db")));
  } catch (error) {
    throw unusable(path, error);
  }
  try {
    await take(lock, path);
  } catch (error) {
    lock.close();
    throw error;
  }
  return {
    database,
    state: path,
    release: () => {
      lock.close();
    },
  };
}

/** Makes a file that only its owner reads; SQLite gives its journals the mode of their database. */
function makePrivate(path: string): string {
  closeSync(openSync(path, "a", 0o600));
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return path;
}

async function take(lock: DatabaseSync, path: string): Promise<void> {
  const until = Date.now() + WAIT_MS;
  for (;;) {
    try {
      lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      return;
    } catch (error) {
      if (toSqlError(error, "").reason !== "busy") throw unusable(path, error);
      if (Date.now() > until) {
        const message = `The data directory "${path}" is in use by another process: stop that, or choose another with --data-dir`;
        throw new Error(message, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function unusable(path: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `The data directory "${path}" cannot be used (${reason}): choose another with --data-dir`;
  return new Error(message, { cause: error });
}

function temporary(): DataDir {
  const state = join(tmpdir(), `causey-${crypto.randomUUID()}`);
  return {
    database: ":memory:",
    state,
    release: () => {
      rmSync(state, { recursive: true, force: true });
    },
  };
}
