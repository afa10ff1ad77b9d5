import type { ReaderQuery } from "./reader.ts";

/** What waits, by owner: whoever's turn it was goes to the end, so that many queries of one do not hold up another. */
export interface QueryQueue {
  readonly size: () => number;
  add(owner: string, query: ReaderQuery): void;
  /** Takes one out that nobody waits for any more. */
  drop(owner: string, query: ReaderQuery): void;
  readonly take: () => ReaderQuery | null;
}

/** Makes an empty queue. */
export function queryQueue(): QueryQueue {
  const waiting = new Map<string, ReaderQuery[]>();
  let size = 0;
  return {
    size: () => size,
    add(owner, query) {
      size += 1;
      const own = waiting.get(owner);
      if (own === undefined) waiting.set(owner, [query]);
      else own.push(query);
    },
    drop(owner, query) {
      const own = waiting.get(owner) ?? [];
      const place = own.indexOf(query);
      if (place === -1) return;
      own.splice(place, 1);
      if (own.length === 0) waiting.delete(owner);
      size -= 1;
    },
    take() {
      for (const [owner, [query, ...rest]] of waiting) {
        waiting.delete(owner);
        if (query === undefined) continue;
        if (rest.length > 0) waiting.set(owner, rest);
        size -= 1;
        return query;
      }
      return null;
    },
  };
}
