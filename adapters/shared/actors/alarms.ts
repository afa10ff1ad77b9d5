import { boundedInstant } from "../../../core/http/fields/bounded-number.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { doubledPause } from "../../../core/work/backoff.ts";
import type { Log, Sql, Statement, StatementResult } from "../../../core/ports.ts";
import { advance, clear, remove, retryAt, type AlarmRow } from "../sql/alarm-rows.ts";
import type { ActorStore } from "../sql/actor-store.ts";
import { alarmSlots } from "./alarm-slots.ts";
import type { SteadyClock } from "../sql/steady-clock.ts";
import { turnstile } from "../work/turnstile.ts";
import { unref } from "../work/unref.ts";

/** The alarms of all actors of a process. */
export interface Alarms {
  /** Sets the alarm of an actor, or clears it (null), together with writes of its own. */
  set(
    actor: AlarmOwner,
    at: number | null,
    together: readonly Statement[],
  ): Promise<StatementResult[]>;
  /** Looks for due alarms soon, e.g. because another kind was defined. */
  rescan(): void;
  /** Why the alarms cannot be read at present; null while they can. */
  failure(): string | null;
  stop(): void;
}

/** An actor that sets its alarm. */
export interface AlarmOwner {
  readonly kind: string;
  readonly name: string;
  /** The database as the instance sees it: one whose actor is elsewhere by now sets nothing. */
  readonly sql: Sql;
}

/** Options of {@link alarms}. */
export interface AlarmOptions {
  /** Holds the alarms, and tells the time that they are set for. */
  readonly store: Pick<ActorStore, "alarms" | "clock" | "sql" | "sqlOf">;
  readonly log: Log;
  /** Kinds whose alarms go off when the clock was set. */
  readonly timeOfDay: () => readonly string[];
  /** Kinds that can be started; alarms of others wait until theirs is defined. */
  readonly kinds: () => readonly string[];
  /**
   * In the mailbox of the actor, runs its `onAlarm` if the alarm still is due, and says whether it was; not where another
   * process has the actor by now.
   */
  readonly ring: (kind: string, actor: string, isDue: () => Promise<boolean>) => Promise<boolean>;
  /** The longest time without a look at the table, in ms. @default 60000 */
  readonly rescanMs?: number | undefined;
  /** The first delay after a failed alarm, in ms; it doubles up to 60 s. @default 1000 */
  readonly backoffMs?: number | undefined;
}

/** Alarms that begin to ring in one turn of the event loop: some milliseconds of work. */
const ALARMS_PER_TURN = 16;
/** How often it is looked whether the clock was set. */
const WATCH_MS = 5000;
const MAX_BACKOFF_MS = 60_000;
/** The pause after an alarm of an actor that has moved, in ms. */
const FENCED_PAUSE_MS = 500;
/** The pause after the table could not be read, in ms. */
const UNREADABLE_PAUSE_MS = 1000;

/**
 * Stores alarms as rows, so that a crash between setting and ringing loses no alarm. The row goes when `onAlarm` is done:
 * after a crash in between it rings again.
 */
export function alarms(options: AlarmOptions): Alarms {
  const { log, rescanMs = 60_000, store } = options;
  const { clock } = store;
  const slots = alarmSlots(store.alarms);
  const mayRing = turnstile(ALARMS_PER_TURN);
  const health = readHealth(log);
  let rescanAt = 0;
  let isStopped = false;

  const scans = wakeUps(clock, rescanMs, async () => {
    const now = clock.now();
    if (now >= rescanAt) slots.look(null, now);
    if (now >= rescanAt) rescanAt = now + rescanMs;
    try {
      const { rows, next } = await slots.take(options.kinds(), () => clock.now());
      for (const row of rows) void ring(row);
      health.read();
      return Math.min(next, rescanAt);
    } catch (error) {
      if (!isStopped) health.failed(String(error));
      return now + UNREADABLE_PAUSE_MS;
    }
  });

  async function ring(row: AlarmRow): Promise<void> {
    await mayRing();
    await ringOnce(options, row, () => isStopped);
    slots.free(row);
    look(row.kind, clock.now());
  }

  function look(kind: string, at: number): void {
    slots.look(kind, at);
    scans.wake(at);
  }

  const watch = watchClock(options, look);

  return {
    async set({ kind, name, sql }, at, together) {
      const due = at === null ? null : boundedInstant(at);
      const own = due === null ? clear(kind, name) : store.alarms.upsert(kind, name, due);
      const results = await sql.batch([...together, own]);
      if (due !== null) look(kind, due);
      return results.slice(0, -1);
    },
    rescan: () => {
      rescanAt = 0;
      scans.wake(clock.now());
    },
    failure: () => health.failure(),
    stop() {
      isStopped = true;
      scans.stop();
      watch.stop();
    },
  };
}

interface WakeUps {
  /** Asks for a call at `at`, or earlier. */
  wake(at: number): void;
  stop(): void;
}

/** Calls `read` when it is asked to, and for the time that the call before returned: one after the other. */
function wakeUps(
  clock: Pick<SteadyClock, "now">,
  longestMs: number,
  read: () => Promise<number>,
): WakeUps {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;
  let isReading = false;
  let isStopped = false;

  function wake(at: number): void {
    if (at >= wakeAt) return;
    wakeAt = at;
    if (!isReading) schedule();
  }
  function schedule(): void {
    clearTimeout(timer);
    if (isStopped || wakeAt === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(() => void run(), Math.max(0, Math.min(wakeAt - clock.now(), longestMs)));
    unref(timer);
  }
  async function run(): Promise<void> {
    isReading = true;
    // An alarm that is set from now on may be missing in this reading.
    wakeAt = Number.POSITIVE_INFINITY;
    wake(await read());
    isReading = false;
    schedule();
  }
  return {
    wake,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Checks alarms for times of day when the clock was set. */
function watchClock(
  options: AlarmOptions,
  look: (kind: string, at: number) => void,
): { stop(): void } {
  let isStopped = false;
  const watch = async (): Promise<void> => {
    if (!(await lookAfterClock(options, () => isStopped))) return;
    for (const kind of options.timeOfDay()) look(kind, options.store.clock.now());
  };
  const timer = setInterval(() => void watch(), Math.min(options.rescanMs ?? WATCH_MS, WATCH_MS));
  unref(timer);
  return {
    stop() {
      isStopped = true;
      clearInterval(timer);
      void watch();
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

/** Keeps the line of the clock, and has alarms for times of day go off when the clock was set; whether it was. */
async function lookAfterClock(
  { store: { clock, sql }, log, rescanMs = 60_000, timeOfDay }: AlarmOptions,
  isStopped: () => boolean,
): Promise<boolean> {
  try {
    const wasSet = clock.wasSet();
    // The next process goes on from there: it must not take a clock that was set for time that has passed.
    await clock.save(wasSet || isStopped() ? 0 : rescanMs);
    if (!wasSet) return false;
    log("warn", "The clock was set: alarms for times of day are computed again");
    const kinds = timeOfDay();
    if (kinds.length > 0) await sql.batch([advance(kinds, clock.now())]);
    return true;
  } catch (error) {
    if (!isStopped() && !(error instanceof SqlError && error.isReported))
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
  const { log, backoffMs = 1000, store } = options;
  const { kind, actor } = row;
  const sql = store.sqlOf(kind, actor);
  try {
    // Asked inside the mailbox: a call before us may have moved or cleared the alarm.
    const rang = await options.ring(kind, actor, () => store.alarms.isDue(sql, row));
    if (rang) await sql.batch([remove(row)]);
  } catch (error) {
    // At shutdown the database may be closed already: the row is as it was.
    if (isStopped()) return;
    // The process that has the actor now rings it: the row is as it was. This one may not know that yet.
    if (error instanceof SqlError && error.reason === "fenced")
      return await new Promise((resolve) => setTimeout(resolve, FENCED_PAUSE_MS));
    const delay = doubledPause({ baseMs: backoffMs, maxMs: MAX_BACKOFF_MS }, row.attempts);
    const attempts = row.attempts + 1;
    const fields = { kind, attempts, retry_ms: delay, error: String(error) };
    // A database that takes no writes is reported once, not by each alarm.
    if (!(error instanceof SqlError && error.isReported))
      log("warn", "An alarm failed and will run again", fields);
    try {
      await sql.batch([retryAt(row, store.clock.now() + delay)]);
    } catch {
      // The row still is due: without a pause the next scan would try at once, and fail as fast.
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
}
