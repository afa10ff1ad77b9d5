import { boundedKey, type Delta } from "./series-table.ts";
import { noTotals, type Totals } from "./totals.ts";

/** What one account's series grew by and is not known to be stored. */
export interface Ledger {
  /** The totals of a series since the last batch, to be added to at once: what is added later may be lost. */
  growth(key: string): Totals;
  /** Stores what there was before this call; rejects when it could not be stored, and keeps it. */
  flush(): Promise<void>;
  readonly isEmpty: boolean;
}

/** A part of a ledger on its way. */
export interface Batch {
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
      // Nobody waits for another's batch, which may have died with its request: both send it, and it counts once.
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
