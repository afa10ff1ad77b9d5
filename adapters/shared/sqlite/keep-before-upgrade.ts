import { closeSync, openSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../../core/ports.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** Copies that stay: what an upgrade was made from, and what the one before it was. */
const KEPT = 2;
const COPY = /^before-upgrade-[\dTZ-]+\.db$/u;

/**
 * Copies a database before its tables are upgraded, so that one can go back to the version which wrote it
 * (docs/upgrade.md). Throws a one-line error when there is no room for it: without a copy nothing is changed.
 */
export function keepBeforeUpgrade(db: SqliteDatabase, folder: string, log: Log): void {
  const name = `before-upgrade-${new Date().toISOString().replaceAll(/[:.]/gu, "-")}.db`;
  const path = join(folder, name);
  try {
    // SQLite fills a file that is empty, and leaves its mode as it is.
    closeSync(openSync(path, "wx", 0o600));
    db.rows("VACUUM INTO ?", [path]);
  } catch (error) {
    rmSync(path, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The database cannot be copied before it is brought to a newer form (${reason}): make room in "${folder}"`;
    throw new Error(message, { cause: error });
  }
  const copies = readdirSync(folder).filter((one) => COPY.test(one));
  for (const old of copies.toSorted().slice(0, -KEPT)) rmSync(join(folder, old), { force: true });
  log("info", "The database is brought to a newer form; a copy of what it was is kept", { path });
}
