import { BoundedMap } from "../../work/bounded-map.ts";
import type { ActorContext, SqlRow, SqlValue } from "../../ports.ts";
import type { Condition } from "./filter-sql.ts";

/** The items that a filter lets through. */
export interface Allowed {
  readonly ids: ReadonlySet<string>;
  /** Chunks that they have together. */
  readonly chunks: number;
  /** Their chunks that keywords find, where these are known. */
  readonly hits?: KnownHits;
}

/** The chunks of a group of items that keywords find, ascending. */
export interface KnownHits {
  readonly own: Int32Array;
  /** The chunks of all groups that one search asks for. */
  readonly all: Int32Array;
  /** How many chunks keywords find, whatever their items. */
  readonly found: number;
  /** Whether a chunk is the group's. */
  readonly isOwn: (chunk: number) => boolean;
  /** The full-text table's answers for `all`, by the query. */
  readonly asked: Map<string, Promise<SqlRow[]>>;
}

/** The items that filters let through, kept until an item changes. */
export interface AllowedItems {
  of(condition: Condition): Promise<Allowed>;
  /** After every commit that changes items. */
  reset(): void;
}

/** Filters whose items are kept. */
const KEPT = 16;
/** Items that are asked for at once: a few milliseconds of SQLite. */
const SLICE = 2000;

/** Makes the memory of filters of one instance. */
export function createAllowedItems({ name: actor, sql, system }: ActorContext): AllowedItems {
  const kept = new BoundedMap<string, Promise<Allowed>>(KEPT);

  /** Reads in slices, so that a condition over many items does not block the event loop. */
  async function read({ sql: where, params }: Condition): Promise<Allowed> {
    const ids = new Set<string>();
    let chunks = 0;
    for (let after = ""; ;) {
      const rows: SqlRow[] = await sql.all(
        `SELECT i.id, i.chunks FROM search_items i WHERE i.actor = ? AND i.id > ? AND ${where} ORDER BY i.id LIMIT ${SLICE}`,
        [actor, after, ...params],
      );
      for (const row of rows) {
        ids.add(String(row["id"]));
        chunks += Number(row["chunks"] ?? 0);
      }
      if (rows.length < SLICE) return { ids, chunks };
      after = String(rows.at(-1)?.["id"] ?? "");
      await system.sleep(0);
    }
  }

  return {
    of(condition) {
      const key = keyOf(condition.sql, condition.params);
      const known = kept.get(key);
      if (known !== undefined) return known;
      const reading = read(condition);
      kept.set(key, reading);
      // Asked again, not kept for ever.
      reading.catch(() => kept.delete(key));
      return reading;
    },
    reset() {
      kept.clear();
    },
  };
}

function keyOf(sql: string, params: readonly SqlValue[]): string {
  return JSON.stringify([sql, ...params.map(String)]);
}
