import type { Log, System } from "../ports.ts";
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

/** The pauses before a batch is tried again, in ms. */
const RETRIES = [50, 250, 1000];

/** Characters of bodies in one batch: a call to a Durable Object carries at most 32 MiB. */
const BATCH_WEIGHT = 8 * 1024 * 1024;

/** Makes a queue. `system.waitUntil` carries its flushes, so a clean shutdown loses no row. */
export function logQueue(options: LogQueueOptions): LogQueue {
  const { system, log, interval = 50, batch = 100 } = options;
  const { capacity = 20_000, weight = 64 * 1024 * 1024 } = options;
  let entries: Entry[] = [];
  let size = 0;
  let dropped = 0;
  let reported = 0;
  let storing = 0;
  let scheduledAt = Number.NEGATIVE_INFINITY;

  const drop = (actor: string, rows: number): void => {
    dropped += rows;
    options.onDrop?.(actor, rows);
  };
  const flush = async (): Promise<void> => {
    const taken = entries;
    entries = [];
    size = 0;
    scheduledAt = Number.NEGATIVE_INFINITY;
    // Counted against the capacity: a slow database must not be given ever more rows.
    storing += taken.length;
    for (const { actor, rows } of batchesOf(taken, batch)) {
      if (!(await storeRows(actor, rows, options))) drop(actor, rows.length);
    }
    storing -= taken.length;
    if (dropped === reported) return;
    log("warn", "Gateway log rows dropped", { count: dropped - reported, total: dropped });
    reported = dropped;
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

/** Stores a batch, with patience; false when it cannot be stored. */
async function storeRows(
  actor: string,
  rows: readonly LogRow[],
  { store, system }: LogQueueOptions,
): Promise<boolean> {
  for (const pause of [...RETRIES, null]) {
    try {
      await store(actor, rows);
      return true;
    } catch {
      if (pause !== null) await system.sleep(pause);
    }
  }
  return false;
}
