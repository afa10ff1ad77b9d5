/** Counts the rows that a queue holds, so that a database that stands still is not given ever more of them. */
export interface HeldRows {
  /** Counts one more row; false = it does not fit. */
  enter(weight: number): boolean;
  /** Notes that counted rows are on their way to the database. Call the result with the rows that have left it for good. */
  leave(rows: number, weight: number): (rows: number, weight: number) => void;
}

/** How much room there is. */
export interface HeldLimits {
  readonly rows: number;
  /** Characters of bodies. */
  readonly weight: number;
}

/** Milliseconds after which rows on their way are not waited for: a runtime may have ended the work with them. */
const LOST = 300_000;

interface Load {
  readonly since: number;
  rows: number;
  weight: number;
}

/** See {@link HeldRows}; `now` tells the time in ms since some moment. */
export function heldRows(limits: HeldLimits, now: () => number): HeldRows {
  const held = { rows: 0, weight: 0 };
  /** The oldest first. */
  const loads = new Set<Load>();
  const release = (load: Load, rows: number, weight: number): void => {
    if (!loads.has(load)) return;
    for (const one of [load, held]) {
      one.rows -= rows;
      one.weight -= weight;
    }
    if (load.rows <= 0) loads.delete(load);
  };
  const hasRoom = (weight: number): boolean =>
    held.rows < limits.rows && held.weight + weight <= limits.weight;
  const forgetLost = (): void => {
    const latest = now() - LOST;
    for (const load of loads) {
      if (load.since >= latest) return;
      release(load, load.rows, load.weight);
    }
  };
  return {
    enter(weight) {
      if (!hasRoom(weight)) forgetLost();
      if (!hasRoom(weight)) return false;
      held.rows += 1;
      held.weight += weight;
      return true;
    },
    leave(rows, weight) {
      const load: Load = { since: now(), rows, weight };
      loads.add(load);
      return (gone, lighter) => release(load, gone, lighter);
    },
  };
}
