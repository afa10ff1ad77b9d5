import type { ActorContext, BatchOptions, Statement, StatementResult } from "../ports.ts";

/**
 * The one alarm of an instance, kept no later than its earliest due row. Every write that makes something due
 * goes through {@link Clock.write}: the row and the alarm are one transaction.
 */
export interface Clock {
  /** Runs the statements; makes sure that the alarm goes off by `due` (of `steady()`; null = nothing is due). */
  write(
    statements: readonly Statement[],
    due: number | null,
    options?: BatchOptions,
  ): Promise<StatementResult[]>;
  /** Runs the statements, and has the alarm go off now, whichever is stored: another process has written rows that are due. */
  wake(statements: readonly Statement[]): Promise<StatementResult[]>;
  /**
   * Runs the work of an alarm that went off, then sets the alarm to the next due time. Until then the stored alarm
   * counts as set, because a crash has the platform fire it again.
   */
  onAlarm(work: () => Promise<void>): Promise<void>;
  /** Runs statements after which nothing is due but at `due`, and sets the alarm with them; null clears it. */
  clear(statements: readonly Statement[], due: number | null): Promise<StatementResult[]>;
}

/** Rounds of waiting for concurrent writes before the alarm is set without having seen them. */
const QUIET_ROUNDS = 100;

/** Starts a clock; `nextDue` reads the earliest due time from the rows. */
export async function startClock(
  context: ActorContext,
  nextDue: () => Promise<number | null>,
): Promise<Clock> {
  // Upper bound of the stored alarm; undefined = not known, so the next write sets it for sure.
  let armed: number | null | undefined = await nextDue();
  const pending = new Set<Promise<StatementResult[]>>();
  let writes = 0;

  // Not an async function, which would make two more promises for every event.
  function write(
    statements: readonly Statement[],
    due: number | null,
    options?: BatchOptions,
  ): Promise<StatementResult[]> {
    const work = commit(statements, due, options);
    pending.add(work);
    writes += 1;
    work.then(
      () => pending.delete(work),
      () => {
        armed = undefined;
        pending.delete(work);
      },
    );
    return work;
  }

  function commit(
    statements: readonly Statement[],
    due: number | null,
    options: BatchOptions | undefined,
  ): Promise<StatementResult[]> {
    if (due === null || (typeof armed === "number" && armed <= due))
      return context.sql.batch(statements, options);
    // Unknown: an alarm that goes off now finds whatever is due.
    armed = armed === undefined ? Math.min(context.steady(), due) : due;
    return context.alarm(armed, statements);
  }

  return {
    write,
    wake(statements) {
      armed = undefined;
      return write(statements, context.steady());
    },
    clear(statements, due) {
      armed = due;
      return context.alarm(due, statements);
    },
    async onAlarm(work) {
      armed = Number.NEGATIVE_INFINITY;
      await work();
      // No turn between the answer and the alarm: a later write comes after it in the database's order.
      await whenQuiet(
        pending,
        () => writes,
        nextDue,
        (next) => {
          armed = null;
          return next === null ? [] : write([], next ?? context.steady());
        },
      );
    },
  };
}

/**
 * Reads the next due time, and hands it to `found` in the turn in which no write is under way that it may lack; undefined if
 * there always is one.
 */
async function whenQuiet<T>(
  pending: ReadonlySet<Promise<unknown>>,
  writes: () => number,
  nextDue: () => Promise<number | null>,
  found: (next: number | null | undefined) => T | Promise<T>,
): Promise<T> {
  for (let round = 0; round < QUIET_ROUNDS; round++) {
    await Promise.allSettled(pending);
    const before = writes();
    const next = await nextDue();
    // A row that was written and done during the queries may be missing from all of their answers.
    if (pending.size === 0 && writes() === before) return found(next);
  }
  return found(undefined);
}
