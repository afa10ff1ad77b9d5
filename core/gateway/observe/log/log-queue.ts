import type { Log, System } from "../../../ports.ts";
import { resultOrLate } from "../../../time/result-or-late.ts";
import { heldRows } from "./held-rows.ts";
import type { LogRow } from "../../call/ended-attempt.ts";
import { pauseOrClosing } from "../../../time/pause-or-closing.ts";

/** Collects log rows and stores them in batches, off the path of requests. */
export interface LogQueue {
  /** Takes a row for a gateway's actor; a full queue drops it and counts that. */
  push(actor: string, row: LogRow): void;
  /** Stores what is queued; resolves when it is durable. */
  flush(): Promise<void>;
  /** Does so for a reader, and waits for what is already on its way: at most `ms`, since the database may stand still. */
  settle(ms: number): Promise<void>;
  /** Rows dropped so far because the queue was full or could not be stored. */
  readonly dropped: number;
}

export interface LogQueueOptions {
  readonly system: System;
  readonly log: Log;
  readonly store: (actor: string, rows: readonly LogRow[]) => Promise<void>;
  /** Called with the number of an actor's dropped rows. @default they are only counted */
  readonly onDrop?: (actor: string, rows: number) => void;
  /** Milliseconds that a row may wait. @default 100: at 1,000 rows a second a batch is full by then */
  readonly interval?: number;
  /** Rows that are stored at once. @default 100: at full load 100 ms of rows would grow old in memory */
  readonly batch?: number;
  /** Rows in the queue, those that are being stored included. @default 20_000 */
  readonly capacity?: number;
  /** Characters of bodies in the queue, of the same rows. @default 64 Mi */
  readonly weight?: number;
}

/** Milliseconds after which a planned flush counts as lost. */
const OVERDUE = 5000;

type Entry = { readonly actor: string; readonly row: LogRow };

/** Rows that are stored at once, and the characters of their bodies. */
interface Batch {
  readonly rows: LogRow[];
  weight: number;
}

/** The pauses before a batch is tried again, in ms: less than the 30 s that Workers give to what a request leaves. */
const RETRIES = [50, 250, 1000, 2000, 5000, 10_000];
/** Milliseconds that a warning gathers what it is about. */
const WARN_AFTER = 5000;

/** Characters of bodies in one batch: a call to a Durable Object carries at most 32 MiB. */
const BATCH_WEIGHT = 8 * 1024 * 1024;

/** Makes a queue. `system.waitUntil` carries its flushes, so a clean shutdown loses no row. */
export function logQueue(options: LogQueueOptions): LogQueue {
  const { system, log, interval = 100, batch = 100 } = options;
  const { capacity = 20_000, weight = 64 * 1024 * 1024 } = options;
  let entries: Entry[] = [];
  let flushes = 0;
  /** Characters of bodies in the entries. */
  let waiting = 0;
  const held = heldRows({ rows: capacity, weight }, () => system.monotonic());
  const underWay = new Set<Promise<unknown>>();
  let dropped = 0;
  let scheduledAt = Number.NEGATIVE_INFINITY;

  const warn = warnings(system, log);
  const drop = (actor: string, rows: number, error?: unknown): void => {
    dropped += rows;
    options.onDrop?.(actor, rows);
    warn(dropped, error);
  };
  // Planned rows may be stored already; those behind them have a plan of their own. A plan holds a number, for rows that it
  // held would stay in memory until its time.
  const flush = async (planned = flushes): Promise<void> => {
    if (planned !== flushes || entries.length === 0) return;
    flushes++;
    scheduledAt = Number.NEGATIVE_INFINITY;
    const taken = entries;
    const left = held.leave(taken.length, waiting);
    entries = [];
    waiting = 0;
    const all = sideBySide(batchesOf(taken, batch), async (actor, { rows, weight: stored }) => {
      await storeRows(actor, rows, options).catch((error: unknown) => {
        drop(actor, rows.length, error);
      });
      left(rows.length, stored);
    });
    underWay.add(all);
    await all.finally(() => underWay.delete(all));
  };
  return {
    async settle(ms) {
      if (entries.length === 0 && underWay.size === 0) return;
      const work = Promise.all([flush(), ...underWay]);
      system.waitUntil(work);
      await resultOrLate(work, undefined, { ms, system });
    },
    push(actor, row) {
      const rowWeight = weightOf(row);
      if (held.enter(rowWeight)) {
        entries.push({ actor, row });
        waiting += rowWeight;
      } else drop(actor, 1);
      const now = system.monotonic();
      if (entries.length >= batch || waiting >= BATCH_WEIGHT) system.waitUntil(flush());
      // A runtime may end a request's background work: a flush that never came is planned again.
      else if (now - scheduledAt > OVERDUE) {
        scheduledAt = now;
        const planned = flushes;
        system.waitUntil(pauseOrClosing(interval, system).then(() => flush(planned)));
      }
    },
    flush,
    get dropped() {
      return dropped;
    },
  };
}

/** On Workers each gateway has a database of its own, and one that fails must not hold up the others. */
function sideBySide(
  batches: ReadonlyMap<string, readonly Batch[]>,
  store: (actor: string, batch: Batch) => Promise<void>,
): Promise<unknown> {
  const work = [...batches].map(async ([actor, own]) => {
    for (const one of own) await store(actor, one);
  });
  return Promise.all(work);
}

function weightOf({ request, response }: LogRow): number {
  return (request.text?.length ?? 0) + (response.text?.length ?? 0);
}

/** Returns the rows of each actor, in batches that are bounded in number and in weight. */
function batchesOf(entries: readonly Entry[], limit: number): Map<string, Batch[]> {
  const byActor = new Map<string, Batch[]>();
  for (const { actor, row } of entries) {
    const rowWeight = weightOf(row);
    const batches = byActor.get(actor) ?? [];
    byActor.set(actor, batches);
    let current = batches.at(-1);
    const isFull =
      current?.rows.length === limit || (current?.weight ?? 0) + rowWeight > BATCH_WEIGHT;
    if (current === undefined || isFull) {
      current = { rows: [], weight: 0 };
      batches.push(current);
    }
    current.rows.push(row);
    current.weight += rowWeight;
  }
  return byActor;
}

/** Stores a batch, with retries whose pauses the end cuts short; rejects with the last error. */
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
    system.waitUntil(pauseOrClosing(WARN_AFTER, system).then(report));
  };
}
