/** The frames of one socket that its runtime has not sent yet. */
export interface UnsentFrames {
  /** A frame was handed over; `before` and `after` are the bytes that the runtime then had unsent. */
  handed(before: number, after: number): void;
  /** How many there are, now that so many bytes are unsent. */
  count(buffered: number): number;
  /** For how long the oldest of them has waited, in ms; 0 without any. */
  waitedMs(): number;
}

/**
 * Counts unsent frames where runtimes only count bytes. Each frame ends at a position in all bytes handed over; frames that
 * end before the unsent bytes are gone. Bytes that the runtime passes to the system at once are never counted.
 */
export function unsentFrames(): UnsentFrames {
  /** Bytes that were handed over and not sent at once. */
  let total = 0;
  let ends: number[] = [];
  let times: number[] = [];
  /** Index of the oldest unsent frame. */
  let first = 0;

  function count(buffered: number): number {
    if (ends.length === 0) return 0;
    const sent = buffered === 0 ? Number.POSITIVE_INFINITY : total - buffered;
    while (first < ends.length && (ends[first] ?? 0) <= sent) first += 1;
    // Not one by one: moving the rest costs as much as the rest is long.
    if (first * 2 >= ends.length) {
      ends = ends.slice(first);
      times = times.slice(first);
      first = 0;
    }
    return ends.length - first;
  }
  return {
    count,
    waitedMs: () => (first < ends.length ? performance.now() - (times[first] ?? 0) : 0),
    handed(before, after) {
      if (after === 0) {
        if (ends.length > 0) count(0);
        return;
      }
      total += Math.max(0, after - before);
      ends.push(total);
      times.push(performance.now());
    },
  };
}
