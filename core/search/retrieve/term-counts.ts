import type { ActorContext, QueryOptions } from "../../ports.ts";
import { matchExpression } from "./keyword-query.ts";

/** In how many chunks of an instance words stand, kept until an item changes. */
export interface TermCounts {
  of(terms: readonly string[], options: QueryOptions): Promise<ReadonlyMap<string, number>>;
  /** After every commit that changes items. */
  reset(): void;
}

/** Terms whose counts are kept. */
const KEPT = 1000;

/** Makes the memory of counts over a full-text table. */
export function createTermCounts({ sql }: ActorContext, index: string): TermCounts {
  let current = new Map<string, number>();
  return {
    async of(terms, options) {
      // What was counted before a change is not put among what is counted after it.
      const known = current;
      const missing = terms.filter((term) => !known.has(term));
      if (missing.length === 0) return known;
      const counts = missing.map(
        (_, n) => `(SELECT COUNT(*) FROM ${index} WHERE ${index} MATCH ?) AS n${n}`,
      );
      const matches = missing.map((term) => matchExpression([term], "or"));
      const [row] = await sql.all(`SELECT ${counts.join(", ")}`, matches, options);
      if (known.size > KEPT) known.clear();
      for (const [n, term] of missing.entries()) known.set(term, Number(row?.[`n${n}`] ?? 0));
      return new Map(known);
    },
    reset() {
      current = new Map();
    },
  };
}
