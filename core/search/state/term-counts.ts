import type { QueryOptions } from "../../ports.ts";
import { BoundedMap } from "../../work/bounded-map.ts";
import type { KeywordStore } from "../keyword/keyword-change.ts";
import { quoted } from "../terms/query-terms.ts";

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
export function createTermCounts({
  index,
  keywords,
}: {
  readonly index: string;
  readonly keywords: Pick<KeywordStore, "all">;
}): TermCounts {
  let current = new BoundedMap<string, number>(KEPT);
  return {
    async of(terms, options) {
      // Counts from before a change must not mix with counts from after it.
      const kept = current;
      const counted = new Map<string, number>();
      const missing = terms.filter((term) => {
        const count = kept.get(term);
        if (count !== undefined) counted.set(term, count);
        return count === undefined;
      });
      for (let at = 0; at < missing.length; at += COUNTED) {
        const some = missing.slice(at, at + COUNTED);
        const counts = some.map(
          (_, n) => `(SELECT COUNT(*) FROM ${index} WHERE ${index} MATCH ?) AS n${n}`,
        );
        const [row] = await keywords.all(`SELECT ${counts.join(", ")}`, some.map(quoted), options);
        for (const [n, term] of some.entries()) {
          const count = Number(row?.[`n${n}`] ?? 0);
          counted.set(term, count);
          kept.set(term, count);
        }
      }
      return counted;
    },
    reset() {
      current = new BoundedMap(KEPT);
    },
  };
}
