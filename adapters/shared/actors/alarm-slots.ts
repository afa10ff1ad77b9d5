import type { AlarmRow, AlarmTable } from "../sql/alarm-rows.ts";

/** Alarms of one kind that run at one time. */
const MOST_OF_KIND = 256;
/** Alarms of all kinds that run at one time, beyond the guaranteed ones. */
const POOL = 1024;
/** Alarms that each kind may run whatever the others do. */
const GUARANTEED = 32;

/** The alarms of one kind. */
interface KindSlots {
  readonly kind: string;
  /** The actors whose alarms run. */
  readonly running: Set<string>;
  /** When the table is to be read for this kind: nothing of it is due before. */
  next: number;
}

/**
 * The slots of running alarms. Each kind (each class of agents is one, the sender of webhooks another) has slots of its
 * own, so that slow handlers of one do not hold up another. The table is the queue of the waiting ones.
 */
export interface AlarmSlots {
  /**
   * Takes slots for due alarms of these kinds, and says when the table is to be read again. Rejects when it cannot be read.
   */
  take(
    kinds: readonly string[],
    clock: () => number,
  ): Promise<{ readonly rows: AlarmRow[]; readonly next: number }>;
  free(row: AlarmRow): void;
  /** Makes the next `take()` read the table for a kind, or for all (null), at that time or earlier. */
  look(kind: string | null, at: number): void;
}

/** Makes the slots of a process. */
export function alarmSlots(table: Pick<AlarmTable, "earliest">): AlarmSlots {
  const slotsByKind = new Map<string, KindSlots>();
  let running = 0;
  let turn = 0;

  function slotsOf(kind: string): KindSlots {
    let slots = slotsByKind.get(kind);
    if (slots === undefined) slotsByKind.set(kind, (slots = { kind, running: new Set(), next: 0 }));
    return slots;
  }

  function roomOf({ running: own }: KindSlots): number {
    return Math.min(MOST_OF_KIND - own.size, Math.max(GUARANTEED - own.size, POOL - running));
  }

  async function takeOf(slots: KindSlots, now: number): Promise<AlarmRow[]> {
    const room = roomOf(slots);
    if (room <= 0) return [];
    const limit = room + slots.running.size;
    // An alarm that is set while the table is read is earlier than that.
    slots.next = Number.POSITIVE_INFINITY;
    const rows = await table.earliest(slots.kind, limit).catch((error: unknown) => {
      slots.next = now;
      throw error;
    });
    const later = rows.findIndex((row) => row.at > now);
    const taken = (later === -1 ? rows : rows.slice(0, later)).filter(
      (row) => !slots.running.has(row.actor),
    );
    for (const row of taken) slots.running.add(row.actor);
    running += taken.length;
    // With as many as were asked for, there may be more: they are looked for when an alarm ends.
    const next = rows[later]?.at ?? (rows.length < limit ? Number.POSITIVE_INFINITY : now);
    slots.next = Math.min(slots.next, next);
    return taken;
  }

  return {
    async take(kinds, clock) {
      const rows: AlarmRow[] = [];
      let next = Number.POSITIVE_INFINITY;
      // Another kind is the first to take from the pool each time.
      turn = (turn + 1) % Math.max(1, kinds.length);
      for (const kind of [...kinds.slice(turn), ...kinds.slice(0, turn)]) {
        const slots = slotsOf(kind);
        const now = clock();
        if (slots.next <= now) rows.push(...(await takeOf(slots, now)));
        if (slots.next > now) next = Math.min(next, slots.next);
      }
      return { rows, next };
    },
    free({ kind, actor }) {
      if (slotsOf(kind).running.delete(actor)) running -= 1;
    },
    look(kind, at) {
      for (const slots of kind === null ? slotsByKind.values() : [slotsOf(kind)])
        slots.next = Math.min(slots.next, at);
    },
  };
}
