import { type BestRows, bestRows, nearestRows, type NearRow, type RowRun } from "./best-rows.ts";
import { type DotKernel, dotKernel } from "./dot-kernel.ts";
import { quantize, toVector, type VectorBlock } from "./vector-block.ts";

/** Bytes of a WebAssembly page. */
const PAGE = 65_536;
/** Rows that the kernel takes at a time. */
const SLICE = 4096;
/** The offsets of the query (at most 16,384 numbers of 2 bytes), the sums of a slice, and the rows. */
const QUERY = 0;
const SUMS = 32_768;
const ROWS = SUMS + SLICE * 4;
/** Rows that the kernel takes together: behind the last ones it reads what is there, or zeros. */
const TOGETHER = 4;
/** Numbers that are multiplied before others may go on: a few milliseconds without vector instructions. */
const MULTIPLIED = 4_000_000;

/** An index of an instance's vectors, wherever they are stored. */
export interface VectorIndex {
  readonly dimensions: number;
  /** The rows (of the allowed items) nearest to a unit vector, best first; `pause` lets others go on. */
  nearest(
    query: Float32Array,
    allowed: ReadonlySet<string> | null,
    limit: number,
    pause: () => Promise<void>,
  ): Promise<NearRow[]>;
  /** Returns those of the rows found before that are nearest to another vector, best first. */
  nearestOf(query: Float32Array, rows: readonly NearRow[], limit: number): Promise<NearRow[]>;
  /** The vectors of some chunks; those without one are missing. */
  vectors(chunks: readonly number[]): Promise<ReadonlyMap<number, Float32Array>>;
}

/** The vectors of an instance in memory, one byte a number, row behind row. */
export interface PackedVectors extends VectorIndex {
  /** Bytes that they take. */
  size(): number;
  /** Adds vectors of an item, behind what it has. */
  add(itemId: string, block: VectorBlock): void;
  remove(itemId: string): void;
}

/** Bytes of memory for one vector, beside its numbers: its scale and its owner. */
const BESIDE = 12;

/** About the bytes that vectors take in memory. */
export function packedBytes(count: number, dimensions: number): number {
  return count * (Math.ceil(dimensions / 16) * 16 + BESIDE);
}

/** Rows of bytes in a memory that grows, and whose they are. */
interface Rows {
  readonly size: number;
  readonly memory: WebAssembly.Memory;
  readonly items: Map<string, RowRun[]>;
  readonly owners: RowRun[];
  /** All runs by their first chunks; null after a change. */
  sorted: RowRun[] | null;
  /** The factors by which the bytes of each row are multiplied; 0 for a row that is gone. */
  scales: Float32Array;
  count: number;
  gone: number;
}

/** Makes the place for vectors of some length. */
export function packedVectors(dimensions: number): PackedVectors {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(ROWS / PAGE) });
  const dots = dotKernel(memory);
  const rows: Rows = {
    size: Math.ceil(dimensions / 16) * 16,
    memory,
    items: new Map(),
    owners: [],
    sorted: null,
    scales: new Float32Array(SLICE),
    count: 0,
    gone: 0,
  };
  return {
    dimensions,
    remove(id) {
      removeRows(rows, id);
    },
    size: () => memory.buffer.byteLength + rows.scales.byteLength + rows.count * 8,
    add(id, block) {
      addRows(rows, id, block);
    },
    nearestOf(query, found, limit) {
      const scale = place(query, rows, dimensions);
      return Promise.resolve(nearestRows(seenAgain(rows, dots, scale, found), limit));
    },
    vectors(chunks) {
      const bytes = new Int8Array(memory.buffer);
      const found = chunks.flatMap((chunk): [number, Float32Array][] => {
        const row = rowOf(rows, chunk);
        if (row === null) return [];
        return [
          [chunk, toVector(bytes, ROWS + row * rows.size, dimensions, rows.scales[row] ?? 0)],
        ];
      });
      return Promise.resolve(new Map(found));
    },
    async nearest(query, allowed, limit, pause) {
      const best = bestRows(limit);
      let work = 0;
      for (let from = 0; from < rows.count; from += SLICE) {
        const count = Math.min(SLICE, rows.count - from);
        // Placed again each time: another query may have run, and the memory may have grown.
        const scale = place(query, rows, dimensions);
        const together = Math.ceil(count / TOGETHER) * TOGETHER;
        dots(QUERY, ROWS + from * rows.size, together, rows.size, SUMS);
        take(rows, { from, count, scale, allowed, best });
        work += count * rows.size;
        if (work > MULTIPLIED) {
          work = 0;
          await pause();
        }
      }
      return best.rows(rows.owners);
    },
  };
}

/** Ranks rows that were found before, by the query that is placed now. */
function seenAgain(
  rows: Rows,
  dots: DotKernel,
  scale: number,
  found: readonly NearRow[],
): NearRow[] {
  const sum = new Int32Array(rows.memory.buffer, SUMS, 1);
  return found.flatMap((one): NearRow[] => {
    const row = rowOf(rows, one.chunk);
    if (row === null) return [];
    // Three rows too many, and still sooner than in JavaScript.
    dots(QUERY, ROWS + row * rows.size, TOGETHER, rows.size, SUMS);
    return [{ ...one, cosine: (sum[0] ?? 0) * scale * (rows.scales[row] ?? 0) }];
  });
}

/** Puts a query where the kernel reads it; what its numbers have to be multiplied by. */
function place(query: Float32Array, { memory, size }: Rows, dimensions: number): number {
  const asked = new Int16Array(memory.buffer, QUERY, size);
  asked.fill(0, dimensions);
  return quantize(query, { from: 0, length: dimensions, bytes: asked, to: 0 });
}

/** A slice of rows whose dot products are in memory. */
interface ScoredSlice {
  readonly from: number;
  readonly count: number;
  readonly scale: number;
  readonly allowed: ReadonlySet<string> | null;
  readonly best: BestRows;
}

/** Adds the rows of a slice that may win. */
function take(
  { memory, owners, scales }: Rows,
  { from, count, scale, allowed, best }: ScoredSlice,
): void {
  const sums = new Int32Array(memory.buffer, SUMS, count);
  for (let n = 0; n < count; n++) {
    const cosine = (sums[n] ?? 0) * scale * (scales[from + n] ?? 0);
    if (cosine <= 0 || cosine < best.bar) continue;
    const owner = owners[from + n];
    if (owner === undefined || (allowed !== null && !allowed.has(owner.id))) continue;
    best.add(from + n, cosine);
  }
}

function addRows(rows: Rows, id: string, { first, dimensions, scales, bytes }: VectorBlock): void {
  const count = scales.length;
  reserve(rows, count);
  const all = new Int8Array(rows.memory.buffer);
  const at = ROWS + rows.count * rows.size;
  if (rows.size === dimensions) all.set(bytes, at);
  else
    for (let n = 0; n < count; n++) {
      const to = at + n * rows.size;
      all.set(bytes.subarray(n * dimensions, (n + 1) * dimensions), to);
      all.fill(0, to + dimensions, to + rows.size);
    }
  rows.scales.set(scales, rows.count);
  const run = { id, first, row: rows.count, count };
  for (let n = 0; n < count; n++) rows.owners.push(run);
  rows.count += count;
  rows.items.set(id, [...(rows.items.get(id) ?? []), run]);
  rows.sorted = null;
}

/** Returns the row of a chunk; null for a chunk without a vector. */
function rowOf(rows: Rows, chunk: number): number | null {
  rows.sorted ??= [...rows.items.values()].flat().toSorted((a, b) => a.first - b.first);
  const { sorted } = rows;
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.first ?? 0) <= chunk) low = middle + 1;
    else high = middle;
  }
  const run = sorted[low - 1];
  return run !== undefined && chunk < run.first + run.count ? run.row + chunk - run.first : null;
}

function reserve(rows: Rows, count: number): void {
  const { memory, size } = rows;
  const missing = ROWS + (rows.count + count + TOGETHER) * size - memory.buffer.byteLength;
  // Ahead, because each growth may copy.
  if (missing > 0) memory.grow(Math.ceil(Math.max(missing, (rows.count * size) / 4) / PAGE));
  if (rows.count + count <= rows.scales.length) return;
  const larger = new Float32Array(Math.max(rows.count + count, rows.scales.length * 2));
  larger.set(rows.scales);
  rows.scales = larger;
}

function removeRows(rows: Rows, id: string): void {
  const runs = rows.items.get(id);
  if (runs === undefined) return;
  rows.items.delete(id);
  rows.sorted = null;
  for (const { row, count } of runs) {
    rows.scales.fill(0, row, row + count);
    rows.gone += count;
  }
  if (rows.gone > SLICE && rows.gone > rows.count / 3) compact(rows);
}

/** Moves the rows that are left together. */
function compact(rows: Rows): void {
  const { items, memory, owners, scales, size } = rows;
  const bytes = new Int8Array(memory.buffer);
  const kept = [...items.values()].flat().toSorted((a, b) => a.row - b.row);
  items.clear();
  owners.length = 0;
  let row = 0;
  for (const run of kept) {
    const from = ROWS + run.row * size;
    bytes.copyWithin(ROWS + row * size, from, from + run.count * size);
    scales.copyWithin(row, run.row, run.row + run.count);
    const moved = { ...run, row };
    items.set(run.id, [...(items.get(run.id) ?? []), moved]);
    for (let n = 0; n < run.count; n++) owners.push(moved);
    row += run.count;
  }
  rows.count = row;
  rows.gone = 0;
}
