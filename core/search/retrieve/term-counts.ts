import type { ActorContext, QueryOptions } from "../../ports.ts";
import { quoted } from "../query/query-terms.ts";

/** In how many chunks of an instance words stand, kept until an item changes. */
export interface TermCounts {
  of(terms: readonly string[], options: QueryOptions): Promise<ReadonlyMap<string, number>>;
  /** After every commit that changes items. */
  reset(): void;
}

/** Terms whose counts are kept. */
const KEPT = 1000;
/** Terms of one statement: Durable Objects take at most 100 parameters. */
const COUNTED = 64;

/** Makes the memory of counts over a full-text table. */
export function createTermCounts({ sql }: ActorContext, index: string): TermCounts {
  let current = new Map<string, number>();
  return {
    async of(terms, options) {
      // What was counted before a change is not put among what is counted after it.
      const known = current;
      const missing = terms.filter((term) => !known.has(term));
      if (missing.length === 0) return known;
      if (known.size > KEPT) known.clear();
      for (let at = 0; at < missing.length; at += COUNTED) {
        const some = missing.slice(at, at + COUNTED);
        const counts = some.map(
          (_, n) => `(SELECT COUNT(*) FROM ${index} WHERE ${index} MATCH ?) AS n${n}`,
        );
        const [row] = await sql.all(`SELECT ${counts.join(", ")}`, some.map(quoted), options);
        for (const [n, term] of some.entries()) known.set(term, Number(row?.[`n${n}`] ?? 0));
      }
      return new Map(known);
    },
    reset() {
      current = new Map();
    },
  };
}
