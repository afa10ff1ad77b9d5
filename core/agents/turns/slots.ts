import { ApiError } from "../../http/api-error.ts";

/** Calls of one connection that run at once; further ones wait for their turn. */
const CALLS_AT_ONCE = 64;
/** Limit of pieces of work that wait for one connection, or for one resource. */
export const WAITING_LIMIT = 10_000;

/** Runs work as soon as there is a slot for it, first come, first served. */
export type Slots = <T>(work: () => T | Promise<T>) => Promise<T>;

/** At most `count` pieces of work run at once (1: one after another). Rejects with 503 when `limit` wait already. */
export function startSlots(count: number, limit: number): Slots {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else if (waiting.length < limit) {
      // Work that ends hands its slot over.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      const message = `${limit} calls wait already: try again later`;
      throw new ApiError("unavailable", { message, headers: { "retry-after": "1" } });
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** The queues of one connection. */
export interface Line {
  /** Its own messages, one after another. */
  readonly messages: Slots;
  readonly calls: Slots;
  /** Settles when `onConnect` is through; all messages wait for it. */
  opened: Promise<unknown> | undefined;
}

/** The lines of an instance's connections, by their ids. */
export interface Lines {
  /** Returns the queues of a connection, and makes them on first use. */
  of(id: string): Line;
  drop(id: string): void;
}

/** The lines of an instance's connections. */
export function startLines(): Lines {
  const lines = new Map<string, Line>();
  return {
    of(id) {
      const found = lines.get(id);
      if (found !== undefined) return found;
      const messages = startSlots(1, WAITING_LIMIT);
      const calls = startSlots(CALLS_AT_ONCE, WAITING_LIMIT);
      const line = { messages, calls, opened: undefined };
      lines.set(id, line);
      return line;
    },
    drop: (id) => void lines.delete(id),
  };
}
