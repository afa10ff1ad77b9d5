import { SqlError } from "../../../core/sql-error.ts";
import type { Log, Statement, StatementResult } from "../../../core/ports.ts";
import {
  advance,
  clear,
  earliest,
  isUnchanged,
  remove,
  retryAt,
  upsert,
  type AlarmRow,
} from "../sqlite/alarm-rows.ts";
import type { SqliteDatabase } from "../sqlite/sqlite.ts";
import type { SteadyClock } from "../steady-clock.ts";
import { unref } from "../unref.ts";

/** The alarms of all actors of a process. */
export interface Alarms {
  set(
    kind: string,
    actor: string,
    at: number | null,
    together: readonly Statement[],
  ): Promise<StatementResult[]>;
  /** Looks for due alarms soon, e.g. because another kind was defined. */
  rescan(): void;
  stop(): void;
}

/** Options of {@link alarms}. */
export interface AlarmOptions {
  readonly db: SqliteDatabase;
  readonly log: Log;
  /** Tells the time that alarms are set for. */
  readonly clock: SteadyClock;
  /** Kinds whose alarms go off when the clock was set. */
  readonly timeOfDay: () => readonly string[];
  /** Kinds that can be started; alarms of others wait until theirs is defined. */
  readonly kinds: () => readonly string[];
  /** In the mailbox of the actor, runs its `onAlarm` if the alarm still is due, and says whether it was. */
  readonly ring: (kind: string, actor: string, isDue: () => Promise<boolean>) => Promise<boolean>;
  /** The longest time without a look at the table, in ms. @default 60000 */
  readonly rescanMs?: number | undefined;
  /** The first delay after a failed alarm, in ms; it doubles up to 60 s. @default 1000 */
  readonly backoffMs?: number | undefined;
}

/** How often it is looked whether the clock was set. */
const WATCH_MS = 5000;
const MAX_BACKOFF_MS = 60_000;
/** Alarms that run at one time. */
const MAX_RINGING = 256;

/**
 * Keeps alarms as rows: a crash between setting and ringing loses none. The row goes when `onAlarm` is done,
 * so a crash in between has it ring again.
 */
export function alarms(options: AlarmOptions): Alarms {
  const { clock, db, log, rescanMs = 60_000 } = options;
  const ringing = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;
  let isStopped = false;

  function wake(at: number): void {
    if (isStopped || at >= wakeAt) return;
    clearTimeout(timer);
    wakeAt = at;
    timer = setTimeout(scan, Math.max(0, Math.min(at - clock.now(), rescanMs)));
    unref(timer);
  }

  function scan(): void {
    wakeAt = Number.POSITIVE_INFINITY;
    let next = clock.now() + rescanMs;
    try {
      for (const row of earliest(db, options.kinds(), MAX_RINGING + ringing.size)) {
        const key = `${row.kind}\0${row.actor}`;
        if (row.at > clock.now()) next = Math.min(next, row.at);
        else if (!ringing.has(key) && ringing.size < MAX_RINGING) void ring(row, key);
      }
    } catch (error) {
      log("error", "Could not look for alarms", { error: String(error) });
      next = clock.now() + 1000;
    }
    wake(next);
  }

  async function ring(row: AlarmRow, key: string): Promise<void> {
    ringing.add(key);
    await ringOnce(options, row, () => isStopped);
    ringing.delete(key);
    wake(clock.now());
  }

  const look = (): void => {
    if (lookAfterClock(options)) wake(clock.now());
  };
  const watch = setInterval(look, Math.min(rescanMs, WATCH_MS));
  unref(watch);

  return {
    async set(kind, actor, at, together) {
      const own = at === null ? clear(kind, actor) : upsert(kind, actor, at);
      const results = await db.batch([...together, own]);
      if (at !== null) wake(at);
      return results.slice(0, -1);
    },
    rescan: () => {
      wake(clock.now());
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      clearInterval(watch);
      look();
    },
  };
}

/** Keeps the line of the clock, and has alarms for times of day go off when the clock was set; whether it was. */
function lookAfterClock({ clock, db, log, rescanMs = 60_000, timeOfDay }: AlarmOptions): boolean {
  try {
    clock.save(rescanMs);
    if (!clock.wasSet()) return false;
    log("warn", "The clock was set: times of day are looked at anew");
    advance(db, timeOfDay(), clock.now());
    return true;
  } catch (error) {
    if (!(error instanceof SqlError && error.isReported))
      log("warn", "Could not look after the clock", { error: String(error) });
    return false;
  }
}

/** Rings an alarm and removes it, or has it ring again later; never rejects. */
async function ringOnce(
  options: AlarmOptions,
  row: AlarmRow,
  isStopped: () => boolean,
): Promise<void> {
  const { clock, db, log, backoffMs = 1000 } = options;
  try {
    const { kind, actor } = row;
    // Asked inside the mailbox: a call before us may have moved or cleared the alarm.
    const rang = await options.ring(kind, actor, () => isUnchanged(db, row));
    if (rang) await db.batch([remove(row)]);
  } catch (error) {
    // At shutdown the database may be closed already: the row is as it was.
    if (isStopped()) return;
    const delay = Math.min(MAX_BACKOFF_MS, backoffMs * 2 ** Math.min(row.attempts, 16));
    const attempts = row.attempts + 1;
    const fields = { kind: row.kind, attempts, retry_ms: delay, error: String(error) };
    // A database that takes no writes is told of once, not by each alarm.
    if (!(error instanceof SqlError && error.isReported))
      log("warn", "An alarm failed and will run again", fields);
    try {
      await db.batch([retryAt(row, clock.now() + delay)]);
    } catch {
      // The row still is due: without a pause the next scan would try at once, and fail as fast.
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}
