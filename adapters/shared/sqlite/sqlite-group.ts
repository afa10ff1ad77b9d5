import { SqlError } from "../../../core/sql/sql-error.ts";
import type { BatchOptions, Statement, StatementResult } from "../../../core/ports.ts";
import { toSqlError } from "./sqlite-error.ts";
import type { SqliteConnection } from "./sqlite-library.ts";
import type { WriteState } from "./write-state.ts";
import type { Statements } from "./sqlite-statements.ts";
import { type LongWriter, valueSize } from "./writer-messages.ts";

/** Commits batches together. */
export interface Group {
  add(batch: readonly Statement[], options?: BatchOptions): Promise<StatementResult[]>;
  drain(): Promise<void>;
}

/** How long one attempt to get the lock blocks the event loop; a longer wait happens in `setTimeout`. */
export const LOCK_WAIT_MS: number = 20;

/**
 * How long statements of one transaction run, in ms, not counting the last batch and the commit. The rest waits for the next
 * turn, so that requests get one in between.
 */
const TURN_MS = 4;

interface Waiting {
  readonly batch: readonly Statement[];
  readonly lazy: boolean;
  readonly since: number;
  /** Whether it is committed beside the event loop, if that is possible. */
  readonly isLong: boolean;
  resolve(results: StatementResult[]): void;
  reject(error: SqlError): void;
  /** Whether the space that is kept for a full disk was asked for already: once is enough. */
  isAgain: boolean;
}

/** Tells the caller of a batch that it failed. */
type Fail = (waiting: Waiting, error: SqlError) => void;

/** Options of {@link groupCommit}. */
export interface GroupOptions {
  /** How long a lock held by another process is waited for, in ms. */
  readonly busyMs: number;
  /** Whether a commit waits for the disk, unless all of its batches are lazy. */
  readonly syncs: boolean;
  /** Runs the work after what is queued has had its turn. */
  readonly nextTurn: (work: () => void) => void;
  /** The writes held back while the disk is full. @default nothing */
  readonly writes?: Pick<WriteState, "held" | "note" | "shrink">;
  /** Commits long batches beside the event loop; the others wait meanwhile. @default they run on the calling thread */
  readonly writer?: LongWriter | undefined;
}

/** Commits the batches of one turn of the event loop in one transaction, hence with one fsync. */
export function groupCommit(
  db: SqliteConnection,
  run: Statements,
  { busyMs, syncs, nextTurn, writes, writer }: GroupOptions,
): Group {
  let queue: Waiting[] = [];
  let scheduled = false;
  /** The long batch that is being committed, if any. */
  const beside = new Set<Waiting>();

  function flush(): void {
    scheduled = false;
    const held = writes?.held() ?? null;
    // On a full disk the space that is kept is used on this thread only.
    const long = writer === undefined || held !== null ? -1 : queue.findIndex((one) => one.isLong);
    if (long === 0) return void writeBeside();
    const first = queue.splice(0, long === -1 ? queue.length : long);
    const group = held === null ? first : first.filter((one) => mayUseReserve(one, held));
    const { busy, done } = commit(db, group, { run, fail, syncs });
    if (held !== null && group.length > 0) writes?.shrink();
    // Those that still wait go first again: their order is their callers' order.
    const left = busy === undefined ? group.slice(done) : waitOn(group, busy, busyMs);
    queue = [...left, ...queue];
    if (queue.length > 0) schedule(busy === undefined ? 0 : LOCK_WAIT_MS);
  }
  /** Commits the first batch on the thread of long ones. The database has one writer, so the others wait for it. */
  async function writeBeside(): Promise<void> {
    const waiting = queue.shift();
    if (waiting === undefined) return;
    beside.add(waiting);
    await commitBeside(db, waiting, { run, fail, writer, note: writes?.note });
    beside.delete(waiting);
    if (queue.length > 0) schedule(0);
  }
  function schedule(waitMs: number): void {
    if (scheduled || beside.size > 0) return;
    scheduled = true;
    if (waitMs === 0) nextTurn(flush);
    else setTimeout(flush, waitMs);
  }
  /**
   * Rejects a batch, or runs a deletion that finds the disk full once more: its reserved space is freed only by the
   * failure.
   */
  function fail(waiting: Waiting, error: SqlError): void {
    const hasRoom =
      !waiting.isAgain && error.reason === "full" && (writes?.held() ?? null) !== null;
    if (!hasRoom || !makesRoom(waiting.batch)) return waiting.reject(error);
    waiting.isAgain = true;
    queue.push(waiting);
    schedule(0);
  }
  return {
    add: (batch, { lazy = false } = {}) =>
      new Promise((resolve, reject) => {
        if (!db.isOpen) return reject(new SqlError("invalid", "The database is closed"));
        const how = { lazy, since: performance.now(), isLong: isLong(batch), isAgain: false };
        queue.push({ batch, resolve, reject, ...how });
        schedule(0);
      }),
    async drain() {
      while (queue.length > 0 || beside.size > 0)
        await new Promise((resolve) => setTimeout(resolve, 1));
    },
  };
}

/** Whether work may go on while the disk is full; tells the others why not. */
function mayUseReserve(waiting: Waiting, held: SqlError): boolean {
  if (makesRoom(waiting.batch)) return true;
  waiting.reject(held);
  return false;
}

/** The most characters that a deleting batch may also write, such as the settings of an instance that has one item less. */
const BESIDE = 16_384;
const DELETES = /^\s*(?:WITH\b[^;]*\)\s*DELETE|DELETE|DROP)\b/iu;
/** A change of a row that is there, as a rule: an alarm is set so, and a count. */
const CHANGES = /^\s*(?:UPDATE|SELECT|INSERT\b[^;]*\bDO UPDATE)\b/iu;

/** Refuses what has waited too long for the lock; the others. */
function waitOn(group: readonly Waiting[], busy: SqlError, busyMs: number): Waiting[] {
  const now = performance.now();
  for (const waiting of group) if (now - waiting.since > busyMs) waiting.reject(busy);
  return group.filter((waiting) => now - waiting.since <= busyMs);
}

/** Whether a batch deletes and stores nothing, but for small changes that go with it. */
function makesRoom(batch: readonly Statement[]): boolean {
  let beside = 0;
  let deletes = false;
  for (const { sql, params = [] } of batch) {
    if (DELETES.test(sql)) deletes = true;
    else if (CHANGES.test(sql)) for (const value of params) beside += valueSize(value);
    else return false;
  }
  return deletes && beside <= BESIDE;
}

/** Statements, and characters and bytes, from which a batch takes longer than others can wait: some milliseconds. */
const LONG = 256;
const LONG_SIZE = 524_288;

function isLong(batch: readonly Statement[]): boolean {
  if (batch.length >= LONG) return true;
  let size = 0;
  for (const { params = [] } of batch) for (const value of params) size += valueSize(value);
  return size >= LONG_SIZE;
}

interface GroupCommit {
  readonly run: Statements;
  readonly fail: Fail;
  readonly syncs: boolean;
}

/** The outcome of a commit. */
interface Committed {
  /** Why none of it could be committed yet: another process holds the lock. */
  readonly busy?: SqlError | undefined;
  /** How many of its batches were settled, from the first one on. */
  readonly done: number;
}

/** Commits as much of the group as fits into a turn, and settles its promises; while the database is locked it settles none. */
function commit(
  db: SqliteConnection,
  group: readonly Waiting[],
  { run, fail, syncs }: GroupCommit,
): Committed {
  const lazy = syncs && group.every((waiting) => waiting.lazy);
  if (lazy) db.exec("PRAGMA synchronous = NORMAL");
  const asOne = group.length === 1 ? null : commitAsOne(db, run, group);
  const result = asOne ?? commitApart(db, run, group, fail);
  if (lazy) db.exec("PRAGMA synchronous = FULL");
  return result;
}

interface BesideCommit {
  readonly run: Statements;
  readonly fail: Fail;
  readonly writer: LongWriter | undefined;
  readonly note: ((error: SqlError) => void) | undefined;
}

/** Commits a batch on the thread for long ones, or on this one where no such thread exists. */
async function commitBeside(
  db: SqliteConnection,
  waiting: Waiting,
  { run, fail, writer, note }: BesideCommit,
): Promise<void> {
  try {
    const results = (await writer?.write(waiting.batch)) ?? null;
    if (results === null) commitAlone(db, run, waiting, fail);
    else waiting.resolve(results);
  } catch (thrown) {
    const error = toSqlError(thrown, "batch");
    note?.(error);
    fail(waiting, error);
  }
}

/**
 * Commits the group without savepoints, which cost two statements per batch. `null` when a statement failed: everything is
 * undone and no caller is answered yet, so that the batches can run again, each for itself.
 */
function commitAsOne(
  db: SqliteConnection,
  run: Statements,
  group: readonly Waiting[],
): Committed | null {
  let began = false;
  const results: StatementResult[][] = [];
  try {
    run.run("BEGIN IMMEDIATE", undefined);
    began = true;
    for (const { batch } of ofThisTurn(group)) results.push(runAll(run, batch));
    run.run("COMMIT", undefined);
  } catch (thrown) {
    if (db.isTransaction) db.exec("ROLLBACK");
    const error = toSqlError(thrown, "COMMIT");
    return !began && isBusy(error) ? { busy: error, done: 0 } : null;
  }
  for (const [index, result] of results.entries()) group[index]?.resolve(result);
  return { done: results.length };
}

/** Commits the group with a savepoint per batch, so that one that fails takes no other with it. */
function commitApart(
  db: SqliteConnection,
  run: Statements,
  group: readonly Waiting[],
  fail: Fail,
): Committed {
  const settle: (() => void)[] = [];
  const begun: Waiting[] = [];
  let began = false;
  try {
    run.run("BEGIN IMMEDIATE", undefined);
    began = true;
    for (const waiting of ofThisTurn(group)) {
      begun.push(waiting);
      settle.push(runBatch(db, waiting, { run, shared: group.length > 1, fail }));
    }
    if (db.isTransaction) run.run("COMMIT", undefined);
  } catch (thrown) {
    const error = toSqlError(thrown, "COMMIT");
    // SQLite itself rolls everything back on some errors: https://sqlite.org/lang_transaction.html#immediate
    if (db.isTransaction) db.exec("ROLLBACK");
    if (isBusy(error)) return { busy: error, done: 0 };
    if (!began) for (const waiting of group) fail(waiting, error);
    if (!began) return { done: group.length };
    // The batch that hit the full disk took the others with it: let each try alone.
    if (begun.length > 1) for (const waiting of begun) commitAlone(db, run, waiting, fail);
    else for (const waiting of begun) fail(waiting, error);
    return { done: begun.length };
  }
  for (const one of settle) one();
  return { done: begun.length };
}

/** The batches that one transaction takes up: the first, and others as long as the turn has time. */
function* ofThisTurn(group: readonly Waiting[]): Generator<Waiting> {
  const until = performance.now() + TURN_MS;
  for (const [index, waiting] of group.entries()) {
    if (index > 0 && performance.now() > until) return;
    yield waiting;
  }
}

function commitAlone(db: SqliteConnection, run: Statements, waiting: Waiting, fail: Fail): void {
  const { busy } = commitApart(db, run, [waiting], fail);
  if (busy !== undefined) waiting.reject(busy);
}

interface BatchRun {
  readonly run: Statements;
  readonly shared: boolean;
  readonly fail: Fail;
}

/** Runs one batch and says how to settle it once the group is committed. */
function runBatch(
  db: SqliteConnection,
  waiting: Waiting,
  { run, shared, fail }: BatchRun,
): () => void {
  if (shared) run.run("SAVEPOINT batch", undefined);
  try {
    const results = runAll(run, waiting.batch);
    if (shared) run.run("RELEASE batch", undefined);
    return () => {
      waiting.resolve(results);
    };
  } catch (thrown) {
    if (!db.isTransaction) throw thrown;
    db.exec(shared ? "ROLLBACK TO batch; RELEASE batch" : "ROLLBACK");
    return () => {
      fail(waiting, toSqlError(thrown, "batch"));
    };
  }
}

function runAll(run: Statements, batch: readonly Statement[]): StatementResult[] {
  return batch.map(({ sql, params }) => run.run(sql, params));
}

/** Whether another process holds the lock. */
export function isBusy(error: unknown): error is SqlError {
  return error instanceof SqlError && error.reason === "busy";
}
