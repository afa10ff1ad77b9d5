import { setImmediate, setTimeout } from "node:timers";
import type { Statement, StatementResult } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { isWorthAnother, sqlErrorOf } from "./postgres-error.ts";
import type { Reachability } from "./reachability.ts";
import {
  commitTogether,
  type CommitOutcome,
  type FailedCommit,
  type Fence,
  type Waiting,
} from "./transaction.ts";
import type { DatabaseConnection } from "./database-connection.ts";

/** Commits the batches of each owner in the order in which they came, those that wait together in one transaction. */
export interface WriteQueue {
  add(
    owner: string,
    batch: readonly Statement[],
    fence: Fence | undefined,
  ): Promise<StatementResult[]>;
  /** Commits what waits, then closes the connection. */
  close(): Promise<void>;
}

export interface WriteQueueOptions {
  /** Transactions that may be open at once. */
  readonly connections: number;
  readonly open: () => Promise<DatabaseConnection>;
  /** Hears of each transaction that was committed, and why one was not. */
  readonly reach: Pick<Reachability, "mayWait" | "note">;
  /** Batches that may wait for a connection. */
  readonly limit: number;
}

/** The batches of one connection. */
interface ConnectionQueue extends WriteQueue {
  /** Statements that wait or run. */
  readonly statements: number;
  /** Whether a batch that comes now does not wait for long. */
  isQuick(): boolean;
}

/** Batches and statements in one transaction. */
const GROUP_BATCHES = 500;
const GROUP_STATEMENTS = 2000;
/** How often a batch is made that may succeed the next time, as after a deadlock. */
const MOST_ATTEMPTS = 5;
/** A queue takes no further owner when it has so many statements, or when its transaction has taken so long, in ms. */
const MANY_STATEMENTS = 250;
const LONG_MS = 10;
/** Pauses between attempts to connect, in ms. */
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1000;

/** Commits groups of batches on one connection at a time. */
interface Writer {
  /** Settles the batches of a group, but for those that are to be tried again: it returns them, in their order. */
  commit(group: readonly Waiting[]): Promise<readonly Waiting[]>;
  close(): void;
}

function writer({ open, reach }: WriteQueueOptions): Writer {
  let connection: DatabaseConnection | undefined;
  let failures = 0;

  async function attempt(group: readonly Waiting[]): Promise<CommitOutcome> {
    try {
      if (connection?.isOpen !== true) connection = await open();
    } catch (error) {
      return { type: "lost", error };
    }
    return commitTogether(connection, group);
  }

  async function commit(group: readonly Waiting[]): Promise<readonly Waiting[]> {
    const outcome = await attempt(group);
    if (outcome.type === "committed") {
      failures = 0;
      reach.note(null);
      return [];
    }
    const { error } = outcome;
    reach.note(error);
    if (outcome.type === "unknown") return refuse(group, new SqlError("unknown", String(error)));
    if (outcome.type !== "failed") return waitOn(group, error);
    const [only] = group;
    if (only !== undefined && group.length === 1) return decide(only, outcome);
    // One of them failed: each for itself, one after the other.
    for (const one of group)
      for (let left: readonly Waiting[] = [one]; left.length > 0;) left = await commit(left);
    return [];
  }

  /** Refuses a group when the database has been away for long; else pauses and returns it. */
  async function waitOn(group: readonly Waiting[], error: unknown): Promise<readonly Waiting[]> {
    if (!reach.mayWait()) return refuse(group, sqlErrorOf(error, "connect"));
    const pause = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    failures = Math.min(failures + 1, 10);
    await new Promise((resolve) => setTimeout(resolve, pause));
    return group;
  }

  return { commit, close: () => connection?.close() };
}

/** Refuses batches with a failure that the log has already. */
function refuse(group: readonly Waiting[], error: SqlError): readonly Waiting[] {
  for (const one of group) one.reject(Object.assign(error, { isReported: true }));
  return [];
}

/** Refuses a batch that failed, or returns it when it may succeed the next time. */
function decide(one: Waiting, { error, isJoined }: FailedCommit): readonly Waiting[] {
  one.attempts += 1;
  if ((isJoined || isWorthAnother(error)) && one.attempts < MOST_ATTEMPTS) return [one];
  one.reject(sqlErrorOf(error, "batch"));
  return [];
}

function connectionQueue(options: WriteQueueOptions): ConnectionQueue {
  const { limit } = options;
  const committing = writer(options);
  const queue: Waiting[] = [];
  let running: Promise<void> | undefined;
  let isClosed = false;
  /** Statements that wait or run. */
  let statements = 0;
  /** When the running group began; those that wait for the first one to begin are part of it. */
  let startedAt = Number.POSITIVE_INFINITY;

  async function drain(): Promise<void> {
    // Batches that this turn of the event loop still adds belong to the first group.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    while (queue.length > 0) {
      startedAt = performance.now();
      const group = queue.splice(0, groupSize(queue));
      const left = await committing.commit(inOrder(group));
      queue.unshift(...left);
      statements -= statementsOf(group) - statementsOf(left);
    }
    running = undefined;
    startedAt = Number.POSITIVE_INFINITY;
  }

  return {
    add: (owner, batch, fence) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new SqlError("invalid", "The database is closed"));
        if (queue.length >= limit)
          return reject(new SqlError("busy", `${limit} batches wait for the database already`));
        queue.push({ owner, batch, fence, attempts: 0, resolve, reject });
        statements += batch.length;
        running ??= drain();
      }),
    get statements() {
      return statements;
    },
    isQuick: () =>
      running === undefined ||
      (statements < MANY_STATEMENTS && performance.now() - startedAt < LONG_MS),
    async close() {
      isClosed = true;
      await running;
      committing.close();
    },
  };
}

/**
 * Opens a queue. The more batches share a transaction, the less each costs: so one connection takes all of them, and the others
 * those that would wait for a long transaction.
 */
export function writeQueue(options: WriteQueueOptions): WriteQueue {
  const queues = Array.from({ length: options.connections }, () => connectionQueue(options));
  /** The queue that has an owner's unfinished batches: its later batches follow there. */
  const places = new Map<string, { readonly queue: ConnectionQueue; batches: number }>();

  function queueFor({ length }: readonly Statement[]): ConnectionQueue {
    const quick = queues.filter((one) => one.isQuick());
    // A long batch goes where the fewest others would wait for it.
    const queue = length < MANY_STATEMENTS ? quick[0] : quick.at(-1);
    return queue ?? queues.reduce((a, b) => (b.statements < a.statements ? b : a));
  }

  return {
    async add(owner, batch, fence) {
      const place = places.get(owner) ?? { queue: queueFor(batch), batches: 0 };
      places.set(owner, place);
      place.batches += 1;
      try {
        return await place.queue.add(owner, batch, fence);
      } finally {
        place.batches -= 1;
        if (place.batches === 0) places.delete(owner);
      }
    },
    async close() {
      await Promise.all(queues.map((one) => one.close()));
    },
  };
}

function statementsOf(group: readonly Waiting[]): number {
  return group.reduce((sum, { batch }) => sum + batch.length, 0);
}

/**
 * Sorts a group by owner. Two processes may write rows of the same owners at one time, those of an owner that does not
 * answer: each locks them in the same order then, so that neither waits for the other (deadlock).
 */
function inOrder(group: readonly Waiting[]): readonly Waiting[] {
  return group.toSorted((a, b) => (a.owner < b.owner ? -1 : Number(a.owner > b.owner)));
}

function groupSize(queue: readonly Waiting[]): number {
  let statements = 0;
  let size = 0;
  for (const { batch } of queue) {
    statements += batch.length;
    if (size > 0 && (size === GROUP_BATCHES || statements > GROUP_STATEMENTS)) break;
    size += 1;
  }
  return size;
}
