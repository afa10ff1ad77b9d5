import type { Log, System } from "../../../ports.ts";
import { type Delta, boundedKey } from "./series-table.ts";
import { noTotals, type Totals } from "./totals.ts";

/** Adds up in memory what accounts' series grow by, and hands it on about once a second. */
export interface Meter {
  /** See {@link Ledger.growth}. */
  growth(account: string, key: string): Totals;
  /** Hands on what an account's series grew by before this call; resolves when that is stored, or was given up for now. */
  flush(account: string): Promise<void>;
}

/** Options of a meter. */
export interface MeterOptions {
  readonly system: System;
  readonly log: Log;
  /**
   * Stores a batch. It may be called again with the same batch, also at the same time. The source's sequence number
   * tells: it grows, and no batch is sent before the last one was stored.
   */
  readonly store: (
    account: string,
    source: string,
    sequence: number,
    deltas: readonly Delta[],
  ) => Promise<void>;
  /** Milliseconds between two batches. @default 1000 */
  readonly interval?: number;
}

/** The pauses before a batch is sent again, in ms; then it waits for the next flush. */
const RETRIES = [50, 250, 1000];
/** Milliseconds after which a planned flush counts as lost: a runtime may end a request's background work. */
const OVERDUE = 5000;
/** Accounts that are held at once: where gateways are open to all, callers may name accounts without end. */
const ACCOUNTS = 10_000;

/** Makes a meter. `system.waitUntil` carries its batches, so that a clean shutdown loses nothing. */
export function meter(options: MeterOptions): Meter {
  const { system, log, interval = 1000 } = options;
  const ledgers = new Map<string, Ledger>();
  const send = sender(options);
  // One sequence for all accounts: a new ledger must not repeat a number of an earlier one.
  let sequence = 0;
  let plannedAt = Number.NEGATIVE_INFINITY;
  const ledgerOf = (account: string): Ledger => {
    const found = ledgers.get(account);
    if (found !== undefined) return found;
    const made = emptyLedger(
      (batch) => send(account, batch),
      () => ++sequence,
    );
    ledgers.set(account, made);
    return made;
  };
  const flush = async (account: string): Promise<void> => {
    const ledger = ledgers.get(account);
    if (ledger === undefined) return;
    try {
      await ledger.flush();
      if (ledger.isEmpty && ledgers.get(account) === ledger) ledgers.delete(account);
    } catch (error) {
      log("warn", "Gateway metrics could not be stored", { error: String(error) });
    }
  };
  const flushAll = async (): Promise<void> => {
    plannedAt = Number.NEGATIVE_INFINITY;
    await Promise.all([...ledgers.keys()].map(flush));
  };
  return {
    growth(account, key) {
      const now = system.monotonic();
      if (now - plannedAt > OVERDUE) {
        plannedAt = now;
        const pause = system.sleep(interval, system.closing).catch(() => undefined);
        system.waitUntil(pause.then(flushAll));
      }
      const isFull = ledgers.size >= ACCOUNTS && !ledgers.has(account);
      return isFull ? noTotals() : ledgerOf(account).growth(key);
    },
    flush,
  };
}

/** Sends a batch, with retries; rejects when it cannot be stored. */
function sender({ store, system }: MeterOptions): (account: string, batch: Batch) => Promise<void> {
  // Made when it is needed: Workers have no random numbers while a module is evaluated.
  let source: string | null = null;
  return async (account, { sequence, deltas }) => {
    source ??= system.id();
    for (const pause of [...RETRIES, null]) {
      try {
        await store(account, source, sequence, deltas);
        return;
      } catch (error) {
        if (pause === null) throw error;
        await system.sleep(pause);
      }
    }
  };
}

/** The growth of one account's series that is not known to be stored yet. */
interface Ledger {
  /** The totals of a series since the last batch, to be added to at once: what is added later may be lost. */
  growth(key: string): Totals;
  /** Stores what there was before this call; rejects when it could not be stored, and keeps it. */
  flush(): Promise<void>;
  readonly isEmpty: boolean;
}

/** A part of a ledger on its way. */
interface Batch {
  readonly sequence: number;
  readonly deltas: readonly Delta[];
}

/** Makes an empty ledger. `store` may be given the same batch again, also before it has answered. */
export function emptyLedger(
  store: (batch: Batch) => Promise<void>,
  nextSequence: () => number,
): Ledger {
  let growing = new Map<string, Totals>();
  /** On its way, perhaps stored already. */
  let sending: Batch | null = null;
  const send = async (batch: Batch): Promise<void> => {
    await store(batch);
    if (sending === batch) sending = null;
  };
  return {
    growth(given) {
      const key = boundedKey(given, growing);
      const found = growing.get(key);
      if (found !== undefined) return found;
      const totals = noTotals();
      growing.set(key, totals);
      return totals;
    },
    async flush() {
      // A batch may have died with its request, so that callers do not wait for another's batch: both send it, and it
      // counts once.
      if (sending !== null) await send(sending);
      if (sending === null && growing.size > 0) {
        sending = { sequence: nextSequence(), deltas: [...growing] };
        growing = new Map();
      }
      if (sending !== null) await send(sending);
    },
    get isEmpty() {
      return sending === null && growing.size === 0;
    },
  };
}
