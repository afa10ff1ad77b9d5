import type { GatewaySettings } from "./settings.ts";

/** Counts the requests of one gateway against its rate limit. */
export interface RateWindow {
  /** Counts a request at `now` (Unix ms): 0 when it fits, else the ms until one would. */
  admit(settings: GatewaySettings, now: number): number;
}

/**
 * Fixed windows are aligned to the clock and counted; sliding ones keep the time of each admitted
 * request (8 bytes each, at most the limit of them), so both are exact. A refused request counts nothing.
 */
export function rateWindow(): RateWindow {
  let windowStart = 0;
  let admitted = 0;
  let times: number[] = [];
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
    if (times.length - oldest >= limit) return Math.max(1, (times[oldest] ?? now) + interval - now);
    times.push(now);
    return 0;
  };
  return {
    admit(settings, now) {
      const limit = settings.rate_limiting_limit ?? 0;
      const interval = (settings.rate_limiting_interval ?? 0) * 1000;
      if (limit <= 0 || interval <= 0) return 0;
      return (settings.rate_limiting_technique === "sliding" ? sliding : fixed)(
        limit,
        interval,
        now,
      );
    },
  };
}
