import type { ActorContext } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { VectorBudget } from "../vectors/vector-budget.ts";

/** A value as it is compared. */
export type ColumnValue = string | number;

/** The values of one field, as a dictionary. */
export interface Column {
  /** By item number: the place of its value in `values`; -1 where it has none. */
  readonly codes: Int32Array;
  /** Each value once, ascending: codes compare as values do. */
  readonly values: readonly ColumnValue[];
}

/** Items under numbers, with their values in columns. */
export interface ItemView {
  /** Ascending. */
  readonly ids: readonly string[];
  /** Whether it has all items that have chunks. */
  readonly isWhole: boolean;
  /** The number of the item of each of some chunks, which must ascend; -1 where it is unknown. */
  ofChunks(chunks: Int32Array): Int32Array;
  /** The number of the item that a chunk belongs to; -1 where it is unknown. */
  ofChunk(chunk: number): number;
  /** The number of an item; -1 where it is unknown. */
  ofId(id: string): number;
  column(field: string): Promise<Column>;
}

/** The columns of an instance, kept until an item changes. */
export interface ItemColumns {
  /**
   * A view that knows at least the items of some chunks.
   *
   * @param all chunks of the instance
   */
  of(chunks: Int32Array, all: number): Promise<ItemView>;
  /** After every commit that changes items. */
  reset(): void;
}

/** Rows that are read at once: a few milliseconds of SQLite. */
const SLICE = 2000;
/** How much longer it takes to look up the item of a chunk than to read an item among all. */
const DEARER = 3;
/** Bytes of an item without its values: its id, its number and its chunks. */
const ITEM_BYTES = 100;
/** Bytes of a text beside its characters. */
const TEXT_BYTES = 40;
/** Items of which a number and a chunk fit into one float: 2^22 × 2^31. */
const MOST_ITEMS = 2 ** 22;

/** An item with the numbers of its chunks, which follow each other. */
interface Owner {
  readonly id: string;
  readonly first: number;
  /** The number behind the last one. */
  readonly end: number;
}

/** A view that is kept, with its size. */
interface Kept {
  readonly view: Promise<ItemView>;
  bytes: number;
}

/**
 * Makes the columns of one instance. A view of all items is made as soon as looking up chunks has taken as long as making it
 * since the last change, so that an instance that changes all the time does not make one for each search.
 * Without memory for it, each search reads what it needs.
 */
export function createItemColumns(context: ActorContext, budget: VectorBudget): ItemColumns {
  const owner = {};
  let kept: Kept | null = null;
  let lookedUp = 0;

  const forget = (): void => {
    kept = null;
    lookedUp = 0;
    budget.release(owner);
  };
  /** Counts what a view takes; forgets it where memory has no room. */
  const grow = (mine: Kept, bytes: number): void => {
    if (kept !== mine) return;
    mine.bytes += bytes;
    if (!budget.take(owner, mine.bytes, forget)) forget();
  };

  function keep(all: number): Kept | null {
    if (all > MOST_ITEMS || !budget.take(owner, all * ITEM_BYTES, forget)) return null;
    const mine: Kept = {
      view: Promise.resolve().then(async () => {
        const owners = await allOwners(context);
        grow(mine, owners.length * ITEM_BYTES - all * ITEM_BYTES);
        return viewOf(context, owners, null, (bytes) => grow(mine, bytes));
      }),
      bytes: all * ITEM_BYTES,
    };
    // Asked again, not kept for ever.
    mine.view.catch(() => {
      if (kept === mine) forget();
    });
    return mine;
  }

  return {
    async of(chunks, all) {
      if (kept === null) {
        lookedUp += chunks.length;
        if (lookedUp * DEARER >= all) kept = keep(all);
      }
      if (kept !== null) {
        budget.touch(owner);
        return kept.view;
      }
      const owners = await ownersOf(context, chunks);
      const ids = owners.map(({ id }) => id);
      return viewOf(context, owners, ids, () => undefined);
    },
    reset: forget,
  };
}

/** All items that have chunks, by their ids. */
async function allOwners({ name: actor, sql, system }: ActorContext): Promise<Owner[]> {
  const out: Owner[] = [];
  for (let after = ""; ;) {
    const rows = await sql.all(
      `SELECT i.id, i.chunks, (SELECT c.id FROM search_chunks c WHERE c.actor = i.actor AND c.item_id = i.id AND c.ord = 0) AS first
        FROM search_items i WHERE i.actor = ? AND i.id > ? ORDER BY i.id LIMIT ${SLICE}`,
      [actor, after],
    );
    for (const { id, chunks, first } of rows)
      if (first !== null && first !== undefined)
        out.push({ id: String(id), first: Number(first), end: Number(first) + Number(chunks) });
    if (rows.length < SLICE) return out.some(isBehind) ? out.toSorted(byId) : out;
    after = String(rows.at(-1)?.["id"] ?? "");
    await system.sleep(0);
  }
}

/** The items of some chunks, by their ids. */
async function ownersOf(
  { name: actor, sql, system }: ActorContext,
  chunks: Int32Array,
): Promise<Owner[]> {
  const found = new Map<string, Owner>();
  for (let at = 0; at < chunks.length; at += SLICE) {
    const rows = await sql.all(
      `SELECT item_id, MIN(id - ord) AS first, MAX(id) AS last FROM search_chunks
        WHERE actor = ? AND ${isOneOf("id", "BIGINT")} GROUP BY item_id`,
      [actor, asSet([...chunks.subarray(at, at + SLICE)])],
    );
    for (const row of rows) {
      const id = String(row["item_id"]);
      const end = Math.max(Number(row["last"]) + 1, found.get(id)?.end ?? 0);
      found.set(id, { id, first: Number(row["first"]), end });
    }
    if (at + SLICE < chunks.length) await system.sleep(0);
  }
  return [...found.values()].toSorted(byId);
}

function byId(a: Owner, b: Owner): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** Whether an item stands behind one of a greater id: databases order some texts in another way. */
function isBehind({ id }: Owner, n: number, all: readonly Owner[]): boolean {
  return n > 0 && id < (all[n - 1]?.id ?? "");
}

/** @param asked the items whose values are read; null = all */
function viewOf(
  context: ActorContext,
  owners: readonly Owner[],
  asked: readonly string[] | null,
  grow: (bytes: number) => void,
): ItemView {
  const ids = owners.map(({ id }) => id);
  const inOrder = Float64Array.from(owners, ({ first }, n) => first * MOST_ITEMS + n).toSorted();
  const numbers = Int32Array.from(inOrder, (one) => one % MOST_ITEMS);
  const firsts = Int32Array.from(numbers, (n) => owners[n]?.first ?? 0);
  const ends = Int32Array.from(numbers, (n) => owners[n]?.end ?? 0);
  const columns = new Map<string, Promise<Column>>();
  const ofId = (id: string): number => {
    const at = firstAtLeast(ids, id);
    return ids[at] === id ? at : -1;
  };
  return {
    ids,
    isWhole: asked === null,
    ofId,
    ofChunks(chunks) {
      let at = -1;
      return chunks.map((chunk) => {
        while (at + 1 < firsts.length && (firsts[at + 1] ?? 0) <= chunk) at++;
        return at >= 0 && chunk < (ends[at] ?? 0) ? (numbers[at] ?? -1) : -1;
      });
    },
    ofChunk(chunk) {
      const at = firstAtLeast(firsts, chunk + 1) - 1;
      return at >= 0 && chunk < (ends[at] ?? 0) ? (numbers[at] ?? -1) : -1;
    },
    column(field) {
      const known = columns.get(field);
      if (known !== undefined) return known;
      const reading = readColumn(context, field, asked, { size: ids.length, ofId });
      columns.set(field, reading);
      reading.then(
        ({ codes, values }) => grow(codes.byteLength + sizeOf(values)),
        // Asked again, not kept for ever.
        () => columns.delete(field),
      );
      return reading;
    },
  };
}

/** The place of the first value that is not less. */
function firstAtLeast<T extends ColumnValue>(sorted: ArrayLike<T>, value: T): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? value) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sizeOf(values: readonly ColumnValue[]): number {
  return values.reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? TEXT_BYTES + 2 * value.length : 8),
    0,
  );
}

async function readColumn(
  context: ActorContext,
  field: string,
  asked: readonly string[] | null,
  items: { readonly size: number; readonly ofId: (id: string) => number },
): Promise<Column> {
  const codes = new Int32Array(items.size).fill(-1);
  const found = new Map<ColumnValue, number>();
  for await (const rows of metaRows(context, field, asked)) {
    for (const row of rows) {
      const item = items.ofId(String(row["item_id"]));
      if (item < 0) continue;
      const value = row["txt"] === null ? Number(row["num"]) : String(row["txt"]);
      const code = found.get(value) ?? found.size;
      if (code === found.size) found.set(value, code);
      codes[item] = code;
    }
  }
  const values = await ascending([...found.keys()], () => context.system.sleep(0));
  const places = new Int32Array(values.length);
  for (const [place, value] of values.entries()) places[found.get(value) ?? 0] = place;
  for (const [item, code] of codes.entries()) if (code >= 0) codes[item] = places[code] ?? -1;
  return { codes, values };
}

type MetaRow = Awaited<ReturnType<ActorContext["sql"]["all"]>>[number];

/** The values of a field, in slices. */
async function* metaRows(
  { name: actor, sql, system }: ActorContext,
  field: string,
  asked: readonly string[] | null,
): AsyncGenerator<readonly MetaRow[]> {
  const select = "SELECT item_id, num, txt FROM search_meta WHERE actor = ? AND field = ?";
  if (asked !== null) {
    for (let at = 0; at < asked.length; at += SLICE) {
      yield await sql.all(`${select} AND ${isOneOf("item_id", "TEXT")}`, [
        actor,
        field,
        asSet(asked.slice(at, at + SLICE)),
      ]);
      if (at + SLICE < asked.length) await system.sleep(0);
    }
    return;
  }
  for (let after = ""; ;) {
    const rows = await sql.all(`${select} AND item_id > ? ORDER BY item_id LIMIT ${SLICE}`, [
      actor,
      field,
      after,
    ]);
    yield rows;
    if (rows.length < SLICE) return;
    after = String(rows.at(-1)?.["item_id"] ?? "");
    await system.sleep(0);
  }
}

/** Sorts values in ascending order, in runs that are then merged, so that many values do not block the event loop. */
async function ascending(
  values: readonly ColumnValue[],
  pause: () => Promise<void>,
): Promise<ColumnValue[]> {
  let runs: ColumnValue[][] = [];
  for (let at = 0; at < values.length; at += SLICE) {
    runs.push(values.slice(at, at + SLICE).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)));
    if (at + SLICE < values.length) await pause();
  }
  while (runs.length > 1) {
    const merged: ColumnValue[][] = [];
    for (let n = 0; n < runs.length; n += 2)
      merged.push(await mergedRuns(runs[n] ?? [], runs[n + 1] ?? [], pause));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Values that are merged before others may go on: about a millisecond. */
const MERGED = 20_000;

async function mergedRuns(
  a: readonly ColumnValue[],
  b: readonly ColumnValue[],
  pause: () => Promise<void>,
): Promise<ColumnValue[]> {
  const out: ColumnValue[] = [];
  for (let [n, m] = [0, 0]; n < a.length || m < b.length;) {
    const [x, y] = [a[n], b[m]];
    const takesFirst = y === undefined || (x !== undefined && x < y);
    const next = takesFirst ? x : y;
    if (next !== undefined) out.push(next);
    if (takesFirst) n++;
    else m++;
    if (out.length % MERGED === 0) await pause();
  }
  return out;
}
