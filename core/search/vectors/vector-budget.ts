import { invalidOptions } from "../../http/api-error.ts";

/** Memory that the vectors and the columns of all instances of a process share. */
export interface VectorBudget {
  /** Bytes in all. */
  readonly bytes: number;
  /**
   * Takes memory for one owner, replacing its earlier share; owners unused for a while are evicted for it. False when there
   * is not enough: the owner is then left without memory.
   */
  take(owner: object, bytes: number, evict: () => void): boolean;
  /** Says that an owner is in use. */
  touch(owner: object): void;
  release(owner: object): void;
}

/** Milliseconds without a search after which vectors may be evicted. */
const IDLE = 30_000;

interface Share {
  readonly bytes: number;
  readonly evict: () => void;
  readonly usedAt: number;
}

/** Makes a budget; `now` counts milliseconds. Throws for a negative or invalid size. */
export function createVectorBudget(bytes: number, now: () => number): VectorBudget {
  if (!(bytes >= 0)) {
    throw invalidOptions(`vectorMemoryBytes: expected a count of bytes, got ${bytes}`);
  }
  // In the order of their last use.
  const shares = new Map<object, Share>();
  const used = (): number => [...shares.values()].reduce((sum, share) => sum + share.bytes, 0);
  return {
    bytes,
    take(owner, wanted, evict) {
      shares.delete(owner);
      if (wanted > bytes) return false;
      for (const [other, share] of shares) {
        if (used() + wanted <= bytes || now() - share.usedAt < IDLE) break;
        shares.delete(other);
        share.evict();
      }
      if (used() + wanted > bytes) return false;
      shares.set(owner, { bytes: wanted, evict, usedAt: now() });
      return true;
    },
    touch(owner) {
      const share = shares.get(owner);
      if (share === undefined) return;
      shares.delete(owner);
      shares.set(owner, { ...share, usedAt: now() });
    },
    release(owner) {
      shares.delete(owner);
    },
  };
}
