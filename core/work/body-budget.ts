/** Bytes of bodies that all requests of a process may hold in memory at once. */
export interface BodyBudget {
  readonly capacity: number;
  readonly used: number;
  /** A share for one request, which holds nothing yet. */
  hold(): BodyHold;
}

/**
 * The memory that one request's bodies take. Code that needs the bytes for longer than their maker retains the hold.
 */
export interface BodyHold {
  readonly bytes: number;
  /** Counts more bytes; false, without counting any, when the budget has too little left. */
  take(bytes: number): boolean;
  /** Gives everything back, for every holder. */
  clear(): void;
  retain(): void;
  /** The last release gives everything back. */
  release(): void;
}

/** A budget of `capacity` bytes. Make one for a process, not one for a request or a part. */
export function bodyBudget(capacity: number): BodyBudget {
  let used = 0;
  return {
    capacity,
    get used() {
      return used;
    },
    hold() {
      let bytes = 0;
      let holders = 1;
      const clear = (): void => {
        used -= bytes;
        bytes = 0;
      };
      return {
        get bytes() {
          return bytes;
        },
        take(more) {
          if (used + more > capacity) return false;
          used += more;
          bytes += more;
          return true;
        },
        clear,
        retain() {
          holders++;
        },
        release() {
          if (--holders === 0) clear();
        },
      };
    },
  };
}
