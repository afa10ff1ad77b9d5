import { boundedInstant } from "../../../core/http/fields/bounded-number.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import type { Log, Statement, StatementResult } from "../../../core/ports.ts";
import {
  advance,
  clear,
  isUnchanged,
  remove,
  repair,
  retryAt,
  upsert,
  type AlarmRow,
} from "../sqlite/alarm-rows.ts";
import { alarmSlots } from "./alarm-slots.ts";
import type { SqliteDatabase } from "../sqlite/sqlite.ts";
import type { SteadyClock } from "../steady-clock.ts";
import { unref } from "../work/unref.ts";

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
  /** Why the alarms cannot be read at present; null while they can. */
  failure(): string | null;
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
/** The pause after the table could not be read, in ms. */
const UNREADABLE_PAUSE_MS = 1000;

/**
 * Stores alarms as rows, so that a crash between setting and ringing loses no alarm. The row goes when `onAlarm` is done:
 * after a crash in between it rings again.
 */
export function alarms(options: AlarmOptions): Alarms {
  const { clock, db, log, rescanMs = 60_000 } = options;
  const slots = alarmSlots(db);
  const health = readHealth(log);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;
  let rescanAt = 0;
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
    const now = clock.now();
    if (now >= rescanAt) slots.look(null, now);
    if (now >= rescanAt) rescanAt = now + rescanMs;
    try {
      const { rows, next } = slots.take(options.kinds(), () => clock.now());
      for (const row of rows) void ring(row);
      health.read();
      wake(Math.min(next, rescanAt));
    } catch (error) {
      health.failed(String(error));
      wake(now + UNREADABLE_PAUSE_MS);
    }
  }

  async function ring(row: AlarmRow): Promise<void> {
    await ringOnce(options, row, () => isStopped);
    slots.free(row);
    look(row.kind, clock.now());
  }

  function look(kind: string, at: number): void {
    slots.look(kind, at);
    wake(at);
  }

  const watch = watchClock(options, look);
  repairRows(options);

  return {
    async set(kind, actor, at, together) {
      const due = at === null ? null : boundedInstant(at);
      const results = await store(db, kind, actor, due, together);
      if (due !== null) look(kind, due);
      return results;
    },
    rescan: () => {
      rescanAt = 0;
      wake(clock.now());
    },
    failure: () => health.failure(),
    stop() {
      isStopped = true;
      clearTimeout(timer);
      watch.stop();
    },
  };
}

async function store(
  db: SqliteDatabase,
  kind: string,
  actor: string,
  due: number | null,
  together: readonly Statement[],
): Promise<StatementResult[]> {
  const own = due === null ? clear(kind, actor) : upsert(kind, actor, due);
  return (await db.batch([...together, own])).slice(0, -1);
}

/** Checks alarms for times of day when the clock was set. */
function watchClock(
  options: AlarmOptions,
  look: (kind: string, at: number) => void,
): { stop(): void } {
  const watch = (): void => {
    if (!lookAfterClock(options)) return;
    for (const kind of options.timeOfDay()) look(kind, options.clock.now());
  };
  const timer = setInterval(watch, Math.min(options.rescanMs ?? WATCH_MS, WATCH_MS));
  unref(timer);
  return {
    stop() {
      clearInterval(timer);
      watch();
    },
  };
}

interface ReadHealth {
  read(): void;
  failed(reason: string): void;
  failure(): string | null;
}

/** Logs one line when the table of alarms cannot be read, and one when it can again. */
function readHealth(log: Log): ReadHealth {
  let failure: string | null = null;
  return {
    read() {
      if (failure !== null) log("info", "The alarms can be read again");
      failure = null;
    },
    failed(reason) {
      if (failure === null)
        log("error", "The alarms cannot be read: nothing that is due runs", { error: reason });
      failure = reason;
    },
    failure: () => failure,
  };
}

/** Reports alarms that an earlier version has stored for a time that never comes, and makes them go off now. */
function repairRows({ clock, db, log }: AlarmOptions): void {
  try {
    const count = repair(db, clock.now());
    if (count > 0)
      log(
        "warn",
        "Alarms were stored for times that no date has: they go off now, and their actors set them again",
        { alarms: count },
      );
  } catch (error) {
    log("warn", "Could not look after stored alarms", { error: String(error) });
  }
}

/** Keeps the line of the clock, and has alarms for times of day go off when the clock was set; whether it was. */
function lookAfterClock({ clock, db, log, rescanMs = 60_000, timeOfDay }: AlarmOptions): boolean {
  try {
    clock.save(rescanMs);
    if (!clock.wasSet()) return false;
    log("warn", "The clock was set: alarms for times of day are computed again");
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
    // A database that takes no writes is reported once, not by each alarm.
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
