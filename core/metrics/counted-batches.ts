import type { System } from "../ports.ts";
import { pauseOrClosing } from "../time/pause-or-closing.ts";

/** Hands on what a process counts, in batches with numbers: a batch that is sent again counts once. */
export interface CountedBatches {
  /** Stores what was counted before this call; rejects when it could not be stored, and keeps it. */
  flush(): Promise<void>;
  /** Whether a batch is on its way, perhaps stored already. */
  readonly isSending: boolean;
}

/** Options of {@link countedBatches}. `C` is what a batch holds. */
export interface CountedBatchesOptions<C> {
  /** Takes what was counted since the last call; null = nothing. */
  readonly take: () => C | null;
  /** May be given the same batch again, also before it has answered. */
  readonly store: (sequence: number, counted: C) => Promise<void>;
  readonly nextSequence: () => number;
}

export function countedBatches<C>(options: CountedBatchesOptions<C>): CountedBatches {
  const { take, store, nextSequence } = options;
  let sending: { readonly sequence: number; readonly counted: C } | null = null;
  const send = async (batch: { readonly sequence: number; readonly counted: C }): Promise<void> => {
    await store(batch.sequence, batch.counted);
    if (sending === batch) sending = null;
  };
  return {
    async flush() {
      // A batch may have died with its request, so that callers do not wait for another's batch: both send it, and it
      // counts once.
      if (sending !== null) await send(sending);
      const counted = sending === null ? take() : null;
      if (counted !== null) sending = { sequence: nextSequence(), counted };
      if (sending !== null) await send(sending);
    },
    get isSending() {
      return sending !== null;
    },
  };
}

/** Milliseconds after which a planned flush counts as lost: a runtime may end a request's background work. */
const OVERDUE = 5000;

/**
 * Plans a flush an interval after the first count, unless one is planned; `now` is the time by any one clock, in ms.
 * `system.waitUntil` carries it, so that a clean shutdown loses nothing.
 */
export function flushPlan(
  system: System,
  flush: () => Promise<void>,
  interval: number = 1000,
): (now: number) => void {
  let plannedAt = Number.NEGATIVE_INFINITY;
  const flushLater = async (): Promise<void> => {
    // A shutdown does not wait for the interval to be over.
    await pauseOrClosing(interval, system);
    plannedAt = Number.NEGATIVE_INFINITY;
    await flush();
  };
  return (now) => {
    if (now - plannedAt <= OVERDUE) return;
    plannedAt = now;
    system.waitUntil(flushLater());
  };
}

/** The pauses before a batch is stored again, in ms; then it waits for the next flush. */
const RETRIES = [50, 250, 1000];

/** Stores a batch, with retries; rejects when it cannot be stored. */
export async function storeWithRetries(store: () => Promise<void>, system: System): Promise<void> {
  for (const pause of [...RETRIES, null]) {
    try {
      return await store();
    } catch (error) {
      if (pause === null) throw error;
      await system.sleep(pause);
    }
  }
}
