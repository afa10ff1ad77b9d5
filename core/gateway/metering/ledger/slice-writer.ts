import type { Slice } from "./budget.ts";
import type { System } from "../../../ports.ts";
import { pauseOrClosing } from "../../../time/pause-or-closing.ts";

/** Milliseconds between two writes while requests come. */
const STORE_AFTER = 200;

/** A slice in memory, and its row. */
export interface HeldSlice extends Slice {
  /** The amount of the row. */
  stored: number;
  /** The amount at which its budget is used up. */
  most: number;
  /** Units for which requests wait. */
  wanted: number;
  /** Requests since the last write, and their units. */
  came: number;
  used: number;
}

export function heldSlice(row: Slice): HeldSlice {
  return { ...row, stored: row.amount, most: row.amount, wanted: 0, came: 0, used: 0 };
}

/** Notes that a request waits for units, of which `left` are left in its budget. */
export function withWanted(one: HeldSlice, units: number, left: number): HeldSlice {
  one.most = one.amount + left;
  one.wanted += units;
  return one;
}

/** Adds the units of a request. */
export function withRequest(one: HeldSlice, units: number): HeldSlice {
  one.amount += units;
  one.came += 1;
  one.used += units;
  return one;
}

/** Writes slices that have changed, one write at a time. */
export interface SliceWriter {
  /** Writes a slice with the next write, and a moment later at the latest. */
  note(one: HeldSlice): void;
  /** Writes after the write that is under way, once for all who ask meanwhile. */
  write(slices: readonly HeldSlice[]): Promise<void>;
  /** Whether the row of a slice may differ from it. */
  isWaiting(one: HeldSlice): boolean;
  /** Writes nothing of these any more. */
  forget(isGone: (one: HeldSlice) => boolean): void;
}

/** Options of {@link sliceWriter}. */
export interface SliceWriterOptions {
  readonly system: Pick<System, "closing" | "sleep" | "waitUntil">;
  readonly store: (slices: readonly Slice[]) => Promise<void>;
  /** Called after each write. */
  readonly onStored: () => void;
  /** Whether a slice is in memory still. */
  readonly isHeld: (one: HeldSlice) => boolean;
}

/** Makes a writer. Rows are ahead of the memory while requests come, and exact once no more do. */
export function sliceWriter(options: SliceWriterOptions): SliceWriter {
  const { system, store, isHeld, onStored } = options;
  const changed = new Set<HeldSlice>();
  let isPlanned = false;
  let storing: Promise<void> = Promise.resolve();
  let following: Promise<void> | undefined;
  const later = async (): Promise<void> => {
    await pauseOrClosing(STORE_AFTER, system);
    isPlanned = false;
    await write([]);
  };
  const note = (one: HeldSlice): void => {
    changed.add(one);
    if (isPlanned) return;
    isPlanned = true;
    system.waitUntil(later());
  };
  const storeChanged = async (): Promise<void> => {
    const slices = [...changed];
    changed.clear();
    const written = slices
      .map((one) => ({ one, amount: nextAmount(one) }))
      .filter(({ one, amount }) => amount !== one.stored);
    // Until it is written, either amount may be the one in the row.
    for (const { one, amount } of written) one.stored = Math.min(one.stored, amount);
    try {
      if (written.length > 0) await store(written.map(({ one, amount }) => ({ ...one, amount })));
    } catch (error) {
      // Stored with the next change.
      for (const { one } of written) if (isHeld(one)) changed.add(one);
      throw error;
    }
    for (const { one, amount } of written) one.stored = amount;
    for (const one of slices) if (one.stored !== one.amount && isHeld(one)) note(one);
    onStored();
  };
  const write: SliceWriter["write"] = (slices) => {
    for (const one of slices) changed.add(one);
    following ??= storing
      .catch(() => undefined)
      .then(() => {
        following = undefined;
        storing = storeChanged();
        return storing;
      });
    return following;
  };
  return {
    note,
    write,
    isWaiting: (one) => changed.has(one) || one.stored !== one.amount,
    forget(isGone) {
      for (const one of changed) if (isGone(one)) changed.delete(one);
    },
  };
}

/** Returns the amount to write: ahead by twice what came since the last write, and exact once no more comes or one came alone. */
function nextAmount(one: HeldSlice): number {
  const comes = one.wanted > 0 || one.came > 1;
  const ahead = comes ? Math.max(one.wanted, one.used * 2) : 0;
  one.came = 0;
  one.used = 0;
  return Math.max(one.amount, Math.min(one.amount + ahead, one.most));
}
