import { dotKernel } from "./dot-kernel.ts";

/** Bytes of a WebAssembly page. */
const PAGE = 65_536;
/** Rows that the kernel takes at a time. */
const SLICE = 4096;
/** Where the query lies (at most 16 kB of it), the sums of a slice, and the rows. */
const QUERY = 0;
const SUMS = 16_384;
const ROWS = SUMS + SLICE * 4;
/** Numbers that are multiplied before others may go on: a few milliseconds without vector instructions. */
const MULTIPLIED = 4_000_000;

/** A chunk near a query, by vectors of bytes. */
export interface NearRow {
  readonly chunk: number;
  readonly itemId: string;
  /** About the cosine. */
  readonly cosine: number;
}

/** The vectors of an instance in memory, one byte a number, row behind row. */
export interface PackedVectors {
  readonly dimensions: number;
  /** Takes the place of what the item had; row n belongs to the chunk with number `first + n`. */
  set(itemId: string, first: number, vectors: Float32Array): void;
  remove(itemId: string): void;
  /** The rows (of the allowed items) nearest to a unit vector, best first; `pause` lets others go on. */
  nearest(
    query: Float32Array,
    allowed: ReadonlySet<string> | null,
    limit: number,
    pause: () => Promise<void>,
  ): Promise<NearRow[]>;
}

interface Item {
  readonly id: string;
  readonly first: number;
  readonly row: number;
  readonly count: number;
}

/** Rows of bytes in a memory that grows, and whose they are. */
interface Rows {
  readonly size: number;
  readonly memory: WebAssembly.Memory;
  readonly items: Map<string, Item>;
  readonly owners: Item[];
  /** What the bytes of each row are multiplied by; 0 for a row that is gone. */
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
    scales: new Float32Array(SLICE),
    count: 0,
    gone: 0,
  };
  return {
    dimensions,
    remove(id) {
      removeRows(rows, id);
    },
    set(id, first, vectors) {
      removeRows(rows, id);
      const count = vectors.length / dimensions;
      reserve(rows, count);
      const bytes = new Int8Array(memory.buffer);
      const item = { id, first, row: rows.count, count };
      for (let n = 0; n < count; n++) {
        const to = ROWS + rows.count * rows.size;
        rows.scales[rows.count] = quantize(vectors, n * dimensions, dimensions, bytes, to);
        rows.owners.push(item);
        rows.count++;
      }
      rows.items.set(id, item);
    },
    async nearest(query, allowed, limit, pause) {
      let taken: NearRow[] = [];
      let bar = 0;
      let work = 0;
      for (let from = 0; from < rows.count; from += SLICE) {
        const count = Math.min(SLICE, rows.count - from);
        // Anew each time: another query may have run, and the memory may have grown.
        const scale = quantize(query, 0, dimensions, new Int8Array(memory.buffer), QUERY);
        dots(QUERY, ROWS + from * rows.size, count, rows.size, SUMS);
        take(rows, from, count, scale, allowed, bar, taken);
        // Sorting now and then is cheaper than keeping order, and all that cannot win any more goes.
        if (taken.length > 4 * limit) {
          taken = taken.toSorted(byCosine).slice(0, limit);
          bar = taken.at(-1)?.cosine ?? 0;
        }
        work += count * rows.size;
        if (work > MULTIPLIED) {
          work = 0;
          await pause();
        }
      }
      return taken.toSorted(byCosine).slice(0, limit);
    },
  };
}

/** Adds the rows of a slice that may win to `taken`. */
function take(
  { memory, owners, scales }: Rows,
  from: number,
  count: number,
  scale: number,
  allowed: ReadonlySet<string> | null,
  bar: number,
  taken: NearRow[],
): void {
  const sums = new Int32Array(memory.buffer, SUMS, count);
  for (let n = 0; n < count; n++) {
    const cosine = (sums[n] ?? 0) * scale * (scales[from + n] ?? 0);
    if (cosine <= 0 || cosine < bar) continue;
    const owner = owners[from + n];
    if (owner === undefined || (allowed !== null && !allowed.has(owner.id))) continue;
    taken.push({ chunk: owner.first + from + n - owner.row, itemId: owner.id, cosine });
  }
}

function reserve(rows: Rows, count: number): void {
  const { memory, size } = rows;
  const missing = ROWS + (rows.count + count) * size - memory.buffer.byteLength;
  // Ahead, because each growth may copy.
  if (missing > 0) memory.grow(Math.ceil(Math.max(missing, (rows.count * size) / 4) / PAGE));
  if (rows.count + count <= rows.scales.length) return;
  const larger = new Float32Array(Math.max(rows.count + count, rows.scales.length * 2));
  larger.set(rows.scales);
  rows.scales = larger;
}

function removeRows(rows: Rows, id: string): void {
  const item = rows.items.get(id);
  if (item === undefined) return;
  rows.items.delete(id);
  rows.scales.fill(0, item.row, item.row + item.count);
  rows.gone += item.count;
  if (rows.gone > SLICE && rows.gone > rows.count / 3) compact(rows);
}

/** Moves the rows that are left together. */
function compact(rows: Rows): void {
  const { items, memory, owners, scales, size } = rows;
  const bytes = new Int8Array(memory.buffer);
  const kept = [...items.values()].toSorted((a, b) => a.row - b.row);
  owners.length = 0;
  let row = 0;
  for (const item of kept) {
    const from = ROWS + item.row * size;
    bytes.copyWithin(ROWS + row * size, from, from + item.count * size);
    scales.copyWithin(row, item.row, item.row + item.count);
    const moved = { ...item, row };
    items.set(item.id, moved);
    for (let n = 0; n < item.count; n++) owners.push(moved);
    row += item.count;
  }
  rows.count = row;
  rows.gone = 0;
}

function byCosine(a: NearRow, b: NearRow): number {
  return b.cosine - a.cosine || a.chunk - b.chunk;
}

/** Writes a vector as bytes from -127 to 127; what they have to be multiplied by. */
function quantize(
  vector: Float32Array,
  from: number,
  length: number,
  bytes: Int8Array,
  to: number,
): number {
  let most = 0;
  for (let i = 0; i < length; i++) most = Math.max(most, Math.abs(vector[from + i] ?? 0));
  const factor = most > 0 ? 127 / most : 0;
  for (let i = 0; i < length; i++) bytes[to + i] = Math.round((vector[from + i] ?? 0) * factor);
  bytes.fill(0, to + length, to + Math.ceil(length / 16) * 16);
  return most / 127;
}
