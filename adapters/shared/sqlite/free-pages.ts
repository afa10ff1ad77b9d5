import { clearTimeout, setTimeout } from "node:timers";
import type { SqliteConnection } from "./sqlite-library.ts";

/** Pages that are free before any are returned, 512 KB, and the share of the file that they have to be. */
const LEAST = 128;
const SHARE = 0.1;
/** Pages that are returned at a time, and the pause until the next, in ms: others go on in between. */
const SLICE = 64;
const PAUSE_MS = 20;
/** One at a time: Deno's `exec` takes only the first step of a statement, which returns one page. */
const RETURN = `BEGIN IMMEDIATE; ${"PRAGMA incremental_vacuum(1);".repeat(SLICE)} COMMIT`;

/**
 * Returns pages that deleted rows have left to the file system, once nobody has used them again for `everyMs`: a training
 * leaves as many as all vectors take. The locks of others are not waited for longer than by a commit. Does nothing for files that were made without `auto_vacuum`
 * (https://sqlite.org/pragma.html#pragma_incremental_vacuum). Ends when it is told to.
 */
export function returnFreePages(db: SqliteConnection, everyMs: number): { stop(): void } {
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
    // What was not returned was used again, or cannot be returned.
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
