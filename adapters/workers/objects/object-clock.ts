/** The time line of an object's due times. */
export interface ObjectClock {
  /** Unix ms, except that it never goes back. */
  now(): number;
  /** The platform's time at that time of the line. */
  toWall(at: number): number;
}

/** The storage of an object's settings. */
interface Settings {
  get(key: string): unknown;
  put(key: string, value: number): void;
}

/** The key of the steady time, once it differs from the platform's clock. */
const KEY = "causey:clock-ahead";
/** Steps back below this are not worth a write, in ms. */
const JUMP_MS = 1000;

/**
 * Makes a clock for an object: workerd tells no elapsed time beside its clock, so that all it can do about a clock that was
 * set is not to go back with it.
 */
export function objectClock(kv: Settings, wall: () => number): ObjectClock {
  let ahead = Number(kv.get(KEY) ?? 0);
  let last = 0;
  return {
    now() {
      const now = wall() + ahead;
      if (now >= last) return (last = now);
      ahead += last - now;
      if (last - now > JUMP_MS) kv.put(KEY, ahead);
      return last;
    },
    toWall: (at) => at - ahead,
  };
}
