/** Things that come and go with every request. */
export interface InFlight<T> extends Iterable<T> {
  readonly size: number;
  /** Takes an item; the result takes it out again, once. */
  add(item: T): () => void;
}

/**
 * Makes an empty collection. A `Set` would not do: a set that grows and shrinks moves to a new table now and then, and V8
 * links the old table to the new one. As soon as one of them is old, the whole chain, with every item that ever was in it,
 * survives until a major collection (4.7 KB per HTTP request when the items were responses).
 */
export function inFlight<T>(): InFlight<T> {
  const slots: (T | undefined)[] = [];
  const free: number[] = [];
  return {
    get size() {
      return slots.length - free.length;
    },
    add(item) {
      const slot = free.pop() ?? slots.length;
      slots[slot] = item;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        slots[slot] = undefined;
        free.push(slot);
      };
    },
    *[Symbol.iterator]() {
      for (const item of slots) if (item !== undefined) yield item;
    },
  };
}
