import type { GatewaySettings } from "../account/settings/settings.ts";
import type { ActorContext } from "../../ports.ts";
import { steadyNow } from "../../time/steady-now.ts";

/** The state of a window as plain data, so that it can be stored. */
export type RateState = {
  /** The start of the fixed window, Unix ms, and the requests in it. */
  readonly start: number;
  readonly admitted: number;
  /** The requests of the sliding window: when, Unix ms, and how many. */
  readonly times: readonly (readonly [at: number, count: number])[];
};

/** Counts the requests of one gateway against its rate limit. */
export interface RateWindow {
  /** Counts a request at `now` (Unix ms): 0 when it fits, else the ms until one would. */
  admit(settings: GatewaySettings, now: number): number;
  /** Times that are kept. */
  readonly size: number;
  /** Returns the state from which {@link rateWindow} can go on. */
  state(settings: GatewaySettings): RateState;
}

/** Times that are stored one by one; more are put together, later rather than sooner. */
const STORED_TIMES = 1000;

/** Returns the limit of a gateway, `null` without one; `interval` in ms. */
export function rateLimit(
  settings: GatewaySettings,
): { readonly limit: number; readonly interval: number } | null {
  const limit = settings.rate_limiting_limit ?? 0;
  const interval = (settings.rate_limiting_interval ?? 0) * 1000;
  return limit > 0 && interval > 0 ? { limit, interval } : null;
}

/**
 * Fixed windows are aligned to the clock and counted. Sliding ones keep the time of each admitted request (8 bytes
 * each, at most as many as the limit). Both are exact. A refused request counts nothing.
 */
export function rateWindow(stored: RateState | null = null): RateWindow {
  let windowStart = stored?.start ?? 0;
  let admitted = stored?.admitted ?? 0;
  let times = (stored?.times ?? []).flatMap(([at, count]) => Array<number>(count).fill(at));
  let oldest = 0;
  const fixed = (limit: number, interval: number, now: number): number => {
    const start = now - (now % interval);
    if (start !== windowStart) [windowStart, admitted] = [start, 0];
    if (admitted >= limit) return start + interval - now;
    admitted++;
    return 0;
  };
  const sliding = (limit: number, interval: number, now: number): number => {
    while (oldest < times.length && (times[oldest] ?? 0) <= now - interval) oldest++;
    // Compacted when half of it is past: amortised constant time per request.
    if (oldest > 64 && oldest * 2 > times.length) {
      times = times.slice(oldest);
      oldest = 0;
    }
    // The limit may have been lowered: then it takes more than the oldest one's leaving.
    const blocking = times.length - oldest < limit ? undefined : times[times.length - limit];
    if (blocking !== undefined) return Math.max(1, blocking + interval - now);
    times.push(now);
    return 0;
  };
  return {
    admit(settings, now) {
      const rate = rateLimit(settings);
      if (rate === null) return 0;
      const technique = settings.rate_limiting_technique === "sliding" ? sliding : fixed;
      return technique(rate.limit, rate.interval, now);
    },
    get size() {
      return times.length - oldest;
    },
    state(settings) {
      const left = times.slice(oldest);
      const step =
        left.length <= STORED_TIMES ? 1 : (rateLimit(settings)?.interval ?? 0) / STORED_TIMES;
      return { start: windowStart, admitted, times: together(left, Math.ceil(step)) };
    },
  };
}

/** Groups times in steps of `step` ms: a request never leaves the window sooner than it would have. */
function together(times: readonly number[], step: number): [at: number, count: number][] {
  const pairs: [at: number, count: number][] = [];
  for (const time of times) {
    const at = Math.ceil(time / step) * step;
    const last = pairs.at(-1);
    if (last?.[0] === at) last[1]++;
    else pairs.push([at, 1]);
  }
  return pairs;
}

/** Milliseconds after which a change is stored: what a killed process may forget. */
const STORE_AFTER = 200;

/** The table of the windows. */
export const rateSchema: string = `CREATE TABLE gateway_rate (actor TEXT PRIMARY KEY, state TEXT NOT NULL)`;

/** A rate window that outlives its instance. */
export interface KeptRateWindow {
  /** Counts a request: 0 when it fits, else the ms until one would. */
  admit(settings: GatewaySettings): number;
  /** Starts from zero, and does not store the counts so far. */
  forget(): void;
}

/**
 * Opens the rate window of one gateway, counted in memory and stored a moment later. An evicted instance or a new process
 * goes on where the last one stopped.
 */
export async function keptRateWindow({ name, sql, system }: ActorContext): Promise<KeptRateWindow> {
  const [row] = await sql.all("SELECT state FROM gateway_rate WHERE actor = ?", [name]);
  const now = steadyNow(system);
  let window = rateWindow(
    row === undefined ? null : past(JSON.parse(String(row["state"])) as RateState, now()),
  );
  let isPlanned = false;
  return {
    admit(settings) {
      const wait = window.admit(settings, now());
      if (wait > 0 || isPlanned || rateLimit(settings) === null) return wait;
      isPlanned = true;
      const counted = window;
      const store = async (): Promise<void> => {
        if (window !== counted) return;
        isPlanned = false;
        const params = [name, JSON.stringify(counted.state(settings))];
        await sql.batch([{ sql: upsert, params }], { lazy: true });
      };
      // Putting a million times together takes some ms.
      const pause = Math.max(STORE_AFTER, window.size / 1000);
      system.waitUntil(system.sleep(pause).then(store));
      return wait;
    },
    forget() {
      window = rateWindow();
      isPlanned = false;
    },
  };
}

/** Counts by a clock that has been set back since must not refuse requests until it is that time again. */
function past(state: RateState, now: number): RateState {
  return { ...state, times: state.times.map(([at, count]) => [Math.min(at, now), count]) };
}

const upsert = `INSERT INTO gateway_rate (actor, state) VALUES (?, ?)
  ON CONFLICT (actor) DO UPDATE SET state = excluded.state`;
