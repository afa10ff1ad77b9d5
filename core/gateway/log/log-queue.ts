import type { Log, System } from "../../ports.ts";
import type { LogRow } from "./log-row.ts";

/** Collects log rows and stores them in batches, off the path of requests. */
export interface LogQueue {
  /** Takes a row for a gateway's actor; a full queue drops it and counts that. */
  push(actor: string, row: LogRow): void;
  /** Stores what is queued; resolves when it is durable. */
  flush(): Promise<void>;
  /** Rows dropped so far because the queue was full or could not be stored. */
  readonly dropped: number;
}

/** What a queue needs. */
export interface LogQueueOptions {
  readonly system: System;
  readonly log: Log;
  readonly store: (actor: string, rows: readonly LogRow[]) => Promise<void>;
  /** Told how many rows of an actor were dropped. @default nobody is */
  readonly onDrop?: (actor: string, rows: number) => void;
  /** Milliseconds that a row may wait. @default 50 */
  readonly interval?: number;
  /** Rows that are stored at once. @default 100: at full load 50 ms of rows would grow old in memory */
  readonly batch?: number;
  /** Rows in the queue. @default 20_000 */
  readonly capacity?: number;
  /** Characters of bodies in the queue. @default 64 Mi */
  readonly weight?: number;
}

/** Milliseconds after which a planned flush counts as lost. */
const OVERDUE = 5000;

type Entry = { actor: string; row: LogRow };

/** The pauses before a batch is tried again, in ms: less than the 30 s that Workers give to what a request leaves. */
const RETRIES = [50, 250, 1000, 2000, 5000, 10_000];
/** Milliseconds that a warning gathers what it is about. */
const WARN_AFTER = 5000;

/** Characters of bodies in one batch: a call to a Durable Object carries at most 32 MiB. */
const BATCH_WEIGHT = 8 * 1024 * 1024;

/** Makes a queue. `system.waitUntil` carries its flushes, so a clean shutdown loses no row. */
export function logQueue(options: LogQueueOptions): LogQueue {
  const { system, log, interval = 50, batch = 100 } = options;
  const { capacity = 20_000, weight = 64 * 1024 * 1024 } = options;
  let entries: Entry[] = [];
  let size = 0;
  let dropped = 0;
  let storing = 0;
  let scheduledAt = Number.NEGATIVE_INFINITY;

  const warn = warnings(system, log);
  const drop = (actor: string, rows: number, error?: unknown): void => {
    dropped += rows;
    options.onDrop?.(actor, rows);
    warn(dropped, error);
  };
  const flush = async (): Promise<void> => {
    const taken = entries;
    entries = [];
    size = 0;
    scheduledAt = Number.NEGATIVE_INFINITY;
    // Counted against the capacity: a slow database must not be given ever more rows.
    storing += taken.length;
    for (const { actor, rows } of batchesOf(taken, batch)) {
      await storeRows(actor, rows, options).catch((error: unknown) => {
        drop(actor, rows.length, error);
      });
    }
    storing -= taken.length;
  };
  return {
    push(actor, row) {
      const rowSize = weightOf(row);
      if (entries.length + storing >= capacity || size + rowSize > weight) drop(actor, 1);
      else {
        entries.push({ actor, row });
        size += rowSize;
      }
      const now = system.now();
      if (entries.length >= batch) system.waitUntil(flush());
      // A runtime may end a request's background work: a flush that never came is planned again.
      else if (now - scheduledAt > OVERDUE) {
        scheduledAt = now;
        system.waitUntil(system.sleep(interval).then(flush));
      }
    },
    flush,
    get dropped() {
      return dropped;
    },
  };
}

function weightOf({ request, response }: LogRow): number {
  return (request.text?.length ?? 0) + (response.text?.length ?? 0);
}

/** The rows of each actor, in batches that are bounded in number and in weight. */
function batchesOf(entries: readonly Entry[], limit: number): { actor: string; rows: LogRow[] }[] {
  const batches: { actor: string; rows: LogRow[] }[] = [];
  const open = new Map<string, { rows: LogRow[]; weight: number }>();
  for (const { actor, row } of entries) {
    const rowWeight = weightOf(row);
    let current = open.get(actor);
    const isFull =
      current?.rows.length === limit || (current?.weight ?? 0) + rowWeight > BATCH_WEIGHT;
    if (current === undefined || isFull) {
      current = { rows: [], weight: 0 };
      open.set(actor, current);
      batches.push({ actor, rows: current.rows });
    }
    current.rows.push(row);
    current.weight += rowWeight;
  }
  return batches;
}

/** Stores a batch, with patience while the end was not asked for; rejects with the last error. */
async function storeRows(
  actor: string,
  rows: readonly LogRow[],
  { store, system }: LogQueueOptions,
): Promise<void> {
  for (const pause of RETRIES) {
    try {
      return await store(actor, rows);
    } catch {
      // Cut short when the end was asked for, and short ones are not.
      await system.sleep(pause, pause > 1000 ? system.closing : undefined).catch(() => undefined);
    }
  }
  return store(actor, rows);
}

/** Warns of dropped rows, once for all of some seconds. */
function warnings(system: System, log: Log): (dropped: number, error?: unknown) => void {
  let total = 0;
  let reported = 0;
  let reason: string | undefined;
  let isPlanned = false;
  return (dropped, error) => {
    total = dropped;
    if (error instanceof Error) reason = error.message.slice(0, 200);
    if (isPlanned) return;
    isPlanned = true;
    const report = (): void => {
      isPlanned = false;
      log("warn", "Gateway log rows dropped", { count: total - reported, total, reason });
      [reported, reason] = [total, undefined];
    };
    system.waitUntil(system.sleep(WARN_AFTER, system.closing).then(report, report));
  };
}
