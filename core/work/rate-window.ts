/** A limit of requests in a window of time. */
export interface RateLimit {
  readonly limit: number;
  /** Milliseconds. */
  readonly interval: number;
  /** Fixed windows are aligned to the clock. */
  readonly technique: "fixed" | "sliding";
}

/** The state of a window as plain data, so that it can be stored. */
export type RateState = {
  /** The start of the fixed window, Unix ms, and the requests in it. */
  readonly start: number;
  readonly admitted: number;
  /** The requests of the sliding window: when, Unix ms, and how many. */
  readonly times: readonly (readonly [at: number, count: number])[];
};

/** Counts requests against a rate limit. */
export interface RateWindow {
  /** Counts a request at `now` (Unix ms): 0 when it fits, else the ms until one would. */
  admit(rate: RateLimit, now: number): number;
  /** Requests that fit at `now`. */
  room(rate: RateLimit, now: number): number;
  /** Times that are kept. */
  readonly size: number;
  /** Returns the state from which {@link rateWindow} can go on. */
  state(rate: RateLimit): RateState;
}

/** Times that are stored one by one; more are put together, later rather than sooner. */
const STORED_TIMES = 1000;

/**
 * Fixed windows are aligned to the clock and counted. Sliding ones keep the time of each admitted request (8 bytes
 * each, at most as many as the limit). Both are exact. A refused request counts nothing.
 */
export function rateWindow(stored: RateState | null = null): RateWindow {
  let windowStart = stored?.start ?? 0;
  let admitted = stored?.admitted ?? 0;
  let times = (stored?.times ?? []).flatMap(([at, count]) => Array<number>(count).fill(at));
  let oldest = 0;
  const fixed = ({ limit, interval }: RateLimit, now: number): number => {
    const start = now - (now % interval);
    if (start !== windowStart) [windowStart, admitted] = [start, 0];
    if (admitted >= limit) return start + interval - now;
    admitted++;
    return 0;
  };
  const pass = (end: number): void => {
    while (oldest < times.length && (times[oldest] ?? 0) <= end) oldest++;
  };
  const sliding = ({ limit, interval }: RateLimit, now: number): number => {
    pass(now - interval);
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
    admit: (rate, now) => (rate.technique === "sliding" ? sliding : fixed)(rate, now),
    room({ limit, interval, technique }, now) {
      if (technique === "fixed")
        return limit - (windowStart === now - (now % interval) ? admitted : 0);
      pass(now - interval);
      return limit - (times.length - oldest);
    },
    get size() {
      return times.length - oldest;
    },
    state({ interval }) {
      const left = times.slice(oldest);
      const step = left.length <= STORED_TIMES ? 1 : interval / STORED_TIMES;
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
