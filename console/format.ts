import { secondBounds } from "../core/signals/requests/request-totals.ts";

/** A duration for people. */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms === 0) return "< 1 ms";
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** A number of bytes for people. */
export function size(bytes: number | undefined): string {
  if (bytes === undefined) return "–";
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A count for people. */
export function count(value: number): string {
  return new Intl.NumberFormat("en", { maximumFractionDigits: 0 }).format(value);
}

/** A time of day. */
export function clock(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

const bounds = secondBounds.map((seconds) => seconds * 1000);

/** The duration in ms below which a share of counted requests lies, interpolated within its bucket; null without any. */
export function quantile(buckets: readonly number[], share: number): number | null {
  const all = buckets.reduce((sum, one) => sum + one, 0);
  if (all === 0) return null;
  let below = 0;
  for (const [at, inside] of buckets.entries()) {
    const low = bounds[at - 1] ?? 0;
    const high = bounds[at];
    if (inside > 0 && below + inside >= share * all)
      return high === undefined ? low : low + ((share * all - below) / inside) * (high - low);
    below += inside;
  }
  return null;
}
