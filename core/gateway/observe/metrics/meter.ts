import {
  countedBatches,
  type CountedBatches,
  type CountedBatchesOptions,
  flushPlan,
  storeWithRetries,
} from "../../../metrics/counted-batches.ts";
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

/** Accounts that are held at once: where gateways are open to all, callers may name accounts without end. */
const ACCOUNTS = 10_000;

/** Makes a meter. */
export function meter(options: MeterOptions): Meter {
  const { system, log, store, interval } = options;
  const ledgers = new Map<string, Ledger>();
  // Made when it is needed: Workers have no random numbers while a module is evaluated.
  let source: string | null = null;
  // One sequence for all accounts: a new ledger must not repeat a number of an earlier one.
  let sequence = 0;
  const ledgerOf = (account: string): Ledger => {
    const found = ledgers.get(account);
    if (found !== undefined) return found;
    const made = emptyLedger(
      (number, deltas) => {
        const name = (source ??= system.id());
        return storeWithRetries(() => store(account, name, number, deltas), system);
      },
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
    await Promise.all([...ledgers.keys()].map(flush));
  };
  const plan = flushPlan(system, flushAll, interval);
  return {
    growth(account, key) {
      plan(system.monotonic());
      const isFull = ledgers.size >= ACCOUNTS && !ledgers.has(account);
      return isFull ? noTotals() : ledgerOf(account).growth(key);
    },
    flush,
  };
}

/** The growth of one account's series that is not known to be stored yet. */
interface Ledger extends Pick<CountedBatches, "flush"> {
  /** The totals of a series since the last batch, to be added to at once: what is added later may be lost. */
  growth(key: string): Totals;
  readonly isEmpty: boolean;
}

/** Makes an empty ledger. */
export function emptyLedger(
  store: CountedBatchesOptions<readonly Delta[]>["store"],
  nextSequence: () => number,
): Ledger {
  let growing = new Map<string, Totals>();
  const take = (): readonly Delta[] | null => {
    if (growing.size === 0) return null;
    const deltas = [...growing];
    growing = new Map();
    return deltas;
  };
  const batches = countedBatches({ take, store, nextSequence });
  return {
    growth(given) {
      const key = boundedKey(given, growing);
      const found = growing.get(key);
      if (found !== undefined) return found;
      const totals = noTotals();
      growing.set(key, totals);
      return totals;
    },
    flush: () => batches.flush(),
    get isEmpty() {
      return !batches.isSending && growing.size === 0;
    },
  };
}
