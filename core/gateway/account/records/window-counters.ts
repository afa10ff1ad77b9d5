import type { ActorContext, Statement } from "../../../ports.ts";
import { steadyNow } from "../../../time/steady-now.ts";

/** Keys that are counted at a time. */
const COUNTERS = 10_000;
/** Milliseconds after which a change is stored: what a crash may forget. */
const STORE_AFTER = 200;
const BATCH = 500;

/** A limit over a window of time, fixed (aligned to the clock) or sliding. */
export type WindowLimit = {
  readonly limit: number;
  /** Milliseconds. */
  readonly window: number;
  readonly technique: "fixed" | "sliding";
};

/** Counters by key. They are counted in memory and stored a moment later, so that they outlive the instance. */
export interface WindowCounters {
  /** Counts `amount` unless the limit is reached: 0, or the ms to wait. */
  take(key: string, amount: number, limit: WindowLimit): number;
  /** Counts `amount` whatever the limit: what was spent was spent. `window` in ms. */
  spend(key: string, amount: number, window: number): void;
}

export const counterSchema: string = `CREATE TABLE gateway_counters (
  actor TEXT NOT NULL, name TEXT NOT NULL, window_start BIGINT NOT NULL, amount DOUBLE PRECISION NOT NULL,
  before DOUBLE PRECISION NOT NULL, expires_at BIGINT NOT NULL, PRIMARY KEY (actor, name))`;

/** The amounts that one key has in the current window, and had in the window before. */
export type Counter = { readonly start: number; readonly amount: number; readonly before: number };

export async function windowCounters(context: ActorContext): Promise<WindowCounters> {
  const { system } = context;
  const now = steadyNow(system);
  const counters = await storedCounters(context);
  const changed = new Map<string, number>();
  const put = (key: string, counter: Counter, window: number): void => {
    // A Map keeps the order of insertion: the first key is the one whose window began first.
    if (counters.get(key)?.start !== counter.start) counters.delete(key);
    counters.set(key, counter);
    for (const oldest of counters.keys()) {
      if (counters.size <= COUNTERS) break;
      counters.delete(oldest);
    }
    changed.set(key, window);
    if (changed.size === 1) system.waitUntil(system.sleep(STORE_AFTER).then(store));
  };
  const store = async (): Promise<void> => {
    const statements = [...changed].flatMap(([key, window]) => {
      const counter = counters.get(key);
      return counter === undefined ? [] : [upsert(context.name, key, counter, window)];
    });
    changed.clear();
    const sql = "DELETE FROM gateway_counters WHERE actor = ? AND expires_at < ?";
    statements.push({ sql, params: [context.name, now()] });
    for (let at = 0; at < statements.length; at += BATCH) {
      await context.sql.batch(statements.slice(at, at + BATCH), { lazy: true });
    }
  };
  return {
    take(key, amount, limit) {
      const at = now();
      const counter = counterAt(counters.get(key), limit.window, at);
      const wait = waitFor(counter, amount, limit, at);
      if (wait === 0) put(key, { ...counter, amount: counter.amount + amount }, limit.window);
      return wait;
    },
    spend(key, amount, window) {
      const counter = counterAt(counters.get(key), window, now());
      put(key, { ...counter, amount: counter.amount + amount }, window);
    },
  };
}

/** The counter as it stands at `now` (Unix ms): windows that have passed are closed. */
export function counterAt(counter: Counter | undefined, window: number, now: number): Counter {
  const start = now - (now % window);
  if (counter?.start === start) return counter;
  return { start, amount: 0, before: counter?.start === start - window ? counter.amount : 0 };
}

/**
 * Milliseconds until `amount` fits again, 0 = it fits now; an amount of nothing fits until the limit is reached. A
 * sliding window counts the part of the window before that it still covers, as if its requests had been spread evenly.
 */
export function waitFor(
  counter: Counter,
  amount: number,
  { limit, window, technique }: WindowLimit,
  now: number,
): number {
  const end = counter.start + window;
  const covered = technique === "sliding" ? (counter.before * (end - now)) / window : 0;
  const total = counter.amount + covered;
  if (amount === 0 ? total < limit : total + amount <= limit) return 0;
  const free = technique === "sliding" ? slidesAt(counter, limit - amount, window) : end;
  return Math.max(1, Math.ceil(free - now));
}

/** When so much has slid out that no more than `room` is left: of the window before or, after its end, of this one. */
function slidesAt({ start, amount, before }: Counter, room: number, window: number): number {
  const end = start + window;
  if (before > 0 && room >= amount) return end - (window * (room - amount)) / before;
  return amount > 0 ? end + window - (window * Math.max(0, room)) / amount : end;
}

async function storedCounters({
  name: actor,
  sql,
  system,
}: ActorContext): Promise<Map<string, Counter>> {
  const rows = await sql.all(
    `SELECT * FROM gateway_counters WHERE actor = ? AND expires_at >= ?
      ORDER BY window_start DESC LIMIT ?`,
    [actor, system.now(), COUNTERS],
  );
  return new Map(
    rows.toReversed().map((row) => [
      String(row["name"]),
      {
        start: Number(row["window_start"]),
        amount: Number(row["amount"]),
        before: Number(row["before"]),
      },
    ]),
  );
}

/** A counter is of use for its own window and, as the one before, for the next. */
function upsert(actor: string, key: string, counter: Counter, window: number): Statement {
  const { start, amount, before } = counter;
  return {
    sql: `INSERT INTO gateway_counters (actor, name, window_start, amount, before, expires_at)
      VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (actor, name) DO UPDATE SET
      window_start = excluded.window_start, amount = excluded.amount, before = excluded.before,
      expires_at = excluded.expires_at`,
    params: [actor, key, start, amount, before, start + 2 * window],
  };
}
