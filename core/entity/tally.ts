import type { System } from "../ports.ts";
import { pauseOrClosing } from "../time/pause-or-closing.ts";

export type Counts = { readonly [source: string]: { readonly [name: string]: number } };

/** Counts in memory, written behind the events that are counted. */
export interface Tally {
  add(source: string, name: string, by?: number): void;
  /** Writes the counts; resolves when no write is pending. */
  flush(): Promise<void>;
}

/** Time for which counts wait for others before they are written, in ms. */
const WAIT_MS = 1000;
/** Time after which a write without a result is made again, in ms: a runtime may end background work. */
const LOST_MS = 30_000;

/**
 * Counts in memory at the cost of an addition; the counts of a second are one `write`. Counts that could not be written
 * wait for the next write; a process that is killed loses the second.
 */
export function startTally(system: System, write: (counts: Counts) => Promise<unknown>): Tally {
  let pending = new Map<string, Map<string, number>>();
  let dueBefore = 0;
  const underWay = new Set<Promise<void>>();

  function put(source: string, name: string, by: number): void {
    let names = pending.get(source);
    if (names === undefined) pending.set(source, (names = new Map()));
    names.set(name, (names.get(name) ?? 0) + by);
  }
  async function writeNow(): Promise<void> {
    dueBefore = 0;
    if (pending.size === 0) return;
    const taken = pending;
    pending = new Map();
    const lists = [...taken].map(([source, names]) => [source, Object.fromEntries(names)] as const);
    try {
      await write(Object.fromEntries(lists));
    } catch {
      // The next write includes them again.
      for (const [source, names] of taken) for (const [name, by] of names) put(source, name, by);
    }
  }
  function start(): Promise<void> {
    const work = writeNow().finally(() => underWay.delete(work));
    underWay.add(work);
    return work;
  }

  return {
    async flush() {
      void start();
      await Promise.all(underWay);
    },
    add(source, name, by = 1) {
      put(source, name, by);
      const now = system.now();
      if (now < dueBefore) return;
      dueBefore = now + LOST_MS;
      system.waitUntil(pauseOrClosing(WAIT_MS, system).then(start));
    },
  };
}
