import { earliest, type AlarmRow } from "../sqlite/alarm-rows.ts";
import type { SqliteDatabase } from "../sqlite/sqlite.ts";

/** Alarms of one kind that run at one time. */
const MOST_OF_KIND = 256;
/** Alarms of all kinds that run at one time, beyond the guaranteed ones. */
const POOL = 1024;
/** Alarms that each kind may run whatever the others do. */
const GUARANTEED = 32;

/** The alarms of one kind. */
interface Lane {
  readonly kind: string;
  /** The actors whose alarms run. */
  readonly ringing: Set<string>;
  /** When the table is to be read for this kind: nothing of it is due before. */
  next: number;
}

/**
 * The places of the alarms that run. Each kind (each class of agents is one, the sender of webhooks another) has places of its own, so
 * that slow handlers of one keep no other waiting. The queue of those that wait is the table.
 */
export interface AlarmLanes {
  /** Takes places for alarms of these kinds that are due, and tells when the table is to be read again. Throws when it cannot be read. */
  take(kinds: readonly string[], clock: () => number): { rows: AlarmRow[]; next: number };
  /** Gives the place of an alarm back. */
  free(row: AlarmRow): void;
  /** Has the table be read for a kind, or for all (null), at that time or earlier. */
  look(kind: string | null, at: number): void;
}

/** The places of a process. */
export function alarmLanes(db: SqliteDatabase): AlarmLanes {
  const lanes = new Map<string, Lane>();
  let ringing = 0;
  let turn = 0;

  function laneOf(kind: string): Lane {
    let lane = lanes.get(kind);
    if (lane === undefined) lanes.set(kind, (lane = { kind, ringing: new Set(), next: 0 }));
    return lane;
  }

  function roomOf({ ringing: own }: Lane): number {
    return Math.min(MOST_OF_KIND - own.size, Math.max(GUARANTEED - own.size, POOL - ringing));
  }

  function takeOf(lane: Lane, now: number): AlarmRow[] {
    const room = roomOf(lane);
    if (room <= 0) return [];
    const limit = room + lane.ringing.size;
    const rows = earliest(db, lane.kind, limit);
    const later = rows.findIndex((row) => row.at > now);
    const taken = (later === -1 ? rows : rows.slice(0, later)).filter(
      (row) => !lane.ringing.has(row.actor),
    );
    for (const row of taken) lane.ringing.add(row.actor);
    ringing += taken.length;
    // With as many as were asked for, there may be more: they are looked for when an alarm ends.
    lane.next = rows[later]?.at ?? (rows.length < limit ? Number.POSITIVE_INFINITY : now);
    return taken;
  }

  return {
    take(kinds, clock) {
      const rows: AlarmRow[] = [];
      let next = Number.POSITIVE_INFINITY;
      // Another kind is the first to take from the pool each time.
      turn = (turn + 1) % Math.max(1, kinds.length);
      for (const kind of [...kinds.slice(turn), ...kinds.slice(0, turn)]) {
        const lane = laneOf(kind);
        const now = clock();
        if (lane.next <= now) rows.push(...takeOf(lane, now));
        if (lane.next > now) next = Math.min(next, lane.next);
      }
      return { rows, next };
    },
    free({ kind, actor }) {
      if (laneOf(kind).ringing.delete(actor)) ringing -= 1;
    },
    look(kind, at) {
      for (const lane of kind === null ? lanes.values() : [laneOf(kind)])
        lane.next = Math.min(lane.next, at);
    },
  };
}
