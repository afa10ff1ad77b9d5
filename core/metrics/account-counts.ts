import type { Log, System } from "../ports.ts";
import {
  type CountedBatches,
  countedBatches,
  flushPlan,
  storeWithRetries,
} from "./counted-batches.ts";

/** Adds up in memory what accounts use, in groups by name, and hands it on about once a second. */
export interface AccountCounts<T> {
  /**
   * Returns an account's groups since its last batch, to be added to at once: what is added later may be lost. Null where
   * too many accounts are held.
   */
  of(account: string): Map<string, T> | null;
  /** Hands on what was counted of an account before this call; resolves when that is stored, or was given up for now. */
  flush(account: string): Promise<void>;
}

export interface AccountCountsOptions<T> {
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
    groups: ReadonlyMap<string, T>,
  ) => Promise<void>;
  /** The warning where a batch cannot be stored. */
  readonly failure: string;
}

/** Accounts that are held at once: where gateways are open to all, callers may name accounts without end. */
const ACCOUNTS = 10_000;

interface Growing<T> {
  readonly groups: Map<string, T>;
  readonly batches: CountedBatches;
}

/** Makes the counts of one factory. */
export function accountCounts<T>(options: AccountCountsOptions<T>): AccountCounts<T> {
  const { system, log, store, failure } = options;
  const growing = new Map<string, Growing<T>>();
  // Made when it is needed: Workers have no random numbers while a module is evaluated.
  let source: string | null = null;
  // One sequence for all accounts: an account that comes back must not repeat a number of before.
  let sequence = 0;
  const begin = (account: string): Growing<T> => {
    const groups = new Map<string, T>();
    const batches = countedBatches<ReadonlyMap<string, T>>({
      take() {
        if (groups.size === 0) return null;
        const taken = new Map(groups);
        groups.clear();
        return taken;
      },
      store(number, taken) {
        const name = (source ??= system.id());
        return storeWithRetries(() => store(account, name, number, taken), system);
      },
      nextSequence: () => ++sequence,
    });
    return { groups, batches };
  };
  const flush = async (account: string): Promise<void> => {
    const found = growing.get(account);
    if (found === undefined) return;
    try {
      await found.batches.flush();
      const isEmpty = found.groups.size === 0 && !found.batches.isSending;
      if (isEmpty && growing.get(account) === found) growing.delete(account);
    } catch (error) {
      log("warn", failure, { error: String(error) });
    }
  };
  const plan = flushPlan(system, async () => {
    await Promise.all([...growing.keys()].map(flush));
  });
  return {
    of(account) {
      plan(system.monotonic());
      const found = growing.get(account);
      if (found !== undefined) return found.groups;
      if (growing.size >= ACCOUNTS) return null;
      const made = begin(account);
      growing.set(account, made);
      return made.groups;
    },
    flush,
  };
}
