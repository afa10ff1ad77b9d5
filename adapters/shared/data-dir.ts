import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

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
 * goes with the process, however that ends. `":memory:"` is nobody else's anyway.
 */
export async function openDataDir(path: string): Promise<DataDir> {
  if (path === ":memory:") return temporary();
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  const lock = new DatabaseSync(join(path, "lock.db"));
  const until = Date.now() + WAIT_MS;
  for (;;) {
    try {
      lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
      break;
    } catch (error) {
      if (Date.now() > until) {
        lock.close();
        const message = `The data directory "${path}" is in use by another process: stop that, or choose another with --data-dir`;
        throw new Error(message, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return {
    database: join(path, "causey.db"),
    state: path,
    release: () => {
      lock.close();
    },
  };
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
