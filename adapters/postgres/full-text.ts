import { join } from "node:path";
import type { Log, Sql } from "../../core/ports.ts";
import { type DataDir, openDataDir } from "../shared/data-dir.ts";
import { openSqlite } from "../shared/sqlite/open-sqlite.ts";

/** The database of a process for what can be made of the rows again. */
export interface FullText {
  /** Opens it when it is first needed. */
  readonly open: () => Sql;
  close(): Promise<void>;
}

export interface FullTextOptions {
  /** Folder of the process, which others may use too. */
  readonly stateDir: string;
  readonly log: Log;
}

/** Processes of one folder. */
const MOST = 1000;

/** Makes the database in a folder of its own below that of the process: the first one that no other process holds. */
export function fullText({ log, stateDir }: FullTextOptions): FullText {
  let opened: { readonly folder: DataDir; readonly db: Sql } | undefined;

  function open(): Sql {
    if (opened !== undefined) return opened.db;
    const folder = freeFolder(stateDir);
    try {
      // A power cut may undo the last commits: they are made again.
      opened = { folder, db: openSqlite(folder.database, { synchronous: "NORMAL", log }) };
    } catch (error) {
      folder.release();
      throw error;
    }
    return opened.db;
  }

  return {
    open,
    async close() {
      await opened?.db.close();
      opened?.folder.release();
    },
  };
}

function freeFolder(stateDir: string): DataDir {
  for (let n = 1; n <= MOST; n += 1) {
    const folder = openDataDir(join(stateDir, "full-text", String(n)));
    if (folder.hold()) return folder;
    folder.release();
  }
  throw new Error(`${MOST} processes use the full-text indexes in "${stateDir}": stop some`);
}
