import type { System } from "../../ports.ts";
import type { NowOrLater } from "../../work/now-or-later.ts";
import { pauseOrClosing } from "../../time/pause-or-closing.ts";

/** A count whose database is always at least as far as its memory. */
export interface CountedAhead {
  /** Counts one: 0 when it fits, else the ms until one would. */
  take(): NowOrLater<number>;
  /** Stores nothing any more. */
  stop(): void;
}

export interface CountedAheadOptions {
  readonly system: Pick<System, "closing" | "sleep" | "waitUntil">;
  /** Milliseconds between two writes while requests come. */
  readonly pause: () => number;
  readonly now: () => number;
  /** How many fit at a time. */
  readonly room: (at: number) => number;
  /** Counts one in memory: 0 when it fits, else the ms until one would. */
  readonly admit: (at: number) => number;
  /** Stores the count as it is, and how many may be counted beyond it before the next write. */
  readonly store: (ahead: number) => Promise<void>;
}

/** Counts in memory what the database counts already, and writes ahead of what comes. */
export function countedAhead(options: CountedAheadOptions): CountedAhead {
  const { admit, now, pause, room, system } = options;
  const row = writtenRow(options);
  let waiting = 0;
  let total = 0;
  let isPlanned = false;

  /** Plans the write of what the next requests need, or of the exact count when no more come. */
  function plan(): void {
    if (isPlanned) return;
    isPlanned = true;
    const before = total;
    const next = async (): Promise<void> => {
      await pauseOrClosing(pause(), system);
      isPlanned = false;
      const writing = row.writing();
      // Its failure is told to the request that began it.
      if (writing !== undefined) return writing.catch(() => undefined).then(plan);
      const came = total - before;
      // One that came alone needs nothing ahead.
      if (came > 1) plan();
      await row.write(came > 1 ? came * 2 : 0);
    };
    system.waitUntil(next());
  }

  async function takeLater(): Promise<number> {
    waiting += 1;
    try {
      const writing = row.writing();
      // Its failure is told to the request that began it.
      if (writing !== undefined) await writing.catch(() => undefined);
      else await row.write(Math.max(waiting, row.used() * 2));
    } finally {
      waiting -= 1;
    }
    return take();
  }

  function take(): NowOrLater<number> {
    const at = now();
    if (!row.hasMore() && room(at) > 0) return takeLater();
    const wait = admit(at);
    if (wait > 0) return wait;
    row.use();
    plan();
    total += 1;
    return wait;
  }

  return { take, stop: row.stop };
}

/** The row of a count, and how much of what it has ahead is used. */
interface WrittenRow {
  hasMore(): boolean;
  use(): void;
  /** How many were used since the last write began. */
  used(): number;
  /** Writes the count and up to so many ahead; one write at a time. */
  write(wanted: number): Promise<void>;
  /** The write that is under way. */
  writing(): Promise<void> | undefined;
  /** From now on a write changes nothing but memory. */
  readonly stop: () => void;
}

function writtenRow({
  now,
  room,
  store,
}: Pick<CountedAheadOptions, "now" | "room" | "store">): WrittenRow {
  let left = 0;
  let used = 0;
  let isStopped = false;
  let writing: Promise<void> | undefined;
  async function write(wanted: number): Promise<void> {
    const size = Math.max(0, Math.min(wanted, room(now())));
    // Until it is written, the row before may be the one that counts.
    left = Math.min(left, size);
    used = 0;
    if (!isStopped) await store(size);
    left = size - used;
  }
  return {
    hasMore: () => left > 0,
    use() {
      left -= 1;
      used += 1;
    },
    used: () => used,
    write(wanted) {
      writing = write(wanted).finally(() => (writing = undefined));
      return writing;
    },
    writing: () => writing,
    stop() {
      isStopped = true;
    },
  };
}
