import { fromBytes, toBytes } from "./dense.ts";

/** Vectors of successive chunks as they are stored and scanned: one byte a number, and a scale for each vector. */
export interface VectorBlock {
  /** Number of the first vector's chunk. */
  readonly first: number;
  readonly dimensions: number;
  /** The factors by which the bytes of each vector are multiplied. */
  readonly scales: Float32Array;
  /** From -127 to 127, vector behind vector. */
  readonly bytes: Int8Array;
}

/** Writes vectors as bytes; the cosine of two of them keeps two digits and more. */
export function toBlock(first: number, dimensions: number, vectors: Float32Array): VectorBlock {
  const count = Math.floor(vectors.length / dimensions);
  const block = emptyBlock(first, dimensions, count);
  const { scales, bytes } = block;
  for (let n = 0; n < count; n++)
    scales[n] = quantize(vectors, {
      from: n * dimensions,
      length: dimensions,
      bytes,
      to: n * dimensions,
    });
  return block;
}

/** Makes a block of `count` vectors that are still to be written, see {@link quantize}. */
export function emptyBlock(first: number, dimensions: number, count: number): VectorBlock {
  const [scales, bytes] = [new Float32Array(count), new Int8Array(count * dimensions)];
  return { first, dimensions, scales, bytes };
}

/** Vectors `from` to `to` of a block. */
export function partOf(block: VectorBlock, from: number, to: number): VectorBlock {
  const { first, dimensions, scales, bytes } = block;
  return {
    first: first + from,
    dimensions,
    scales: scales.subarray(from, to),
    bytes: bytes.subarray(from * dimensions, to * dimensions),
  };
}

/** Returns a block as two values of a row. */
export function blockColumns({ scales, bytes }: VectorBlock): readonly [Uint8Array, Uint8Array] {
  return [toBytes(scales), new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)];
}

/** Returns the block that {@link blockColumns} wrote. */
export function fromColumns(
  first: number,
  dimensions: number,
  scales: Uint8Array,
  data: Uint8Array,
): VectorBlock {
  const bytes = new Int8Array(data.buffer, data.byteOffset, data.byteLength);
  return { first, dimensions, scales: fromBytes(scales), bytes };
}

/** The part of a vector to quantize, and the place for its numbers. */
export interface QuantizedPlace {
  readonly from: number;
  readonly length: number;
  readonly bytes: Int8Array | Int16Array;
  readonly to: number;
}

/** Writes a vector as bytes from -127 to 127; what they have to be multiplied by. */
export function quantize(
  vector: Float32Array,
  { from, length, bytes, to }: QuantizedPlace,
): number {
  let most = 0;
  for (let i = 0; i < length; i++) most = Math.max(most, Math.abs(vector[from + i] ?? 0));
  const factor = most > 0 ? 127 / most : 0;
  for (let i = 0; i < length; i++) bytes[to + i] = Math.round((vector[from + i] ?? 0) * factor);
  return most / 127;
}

/** Returns the vector whose bytes begin at `at`. */
export function toVector(
  bytes: Int8Array,
  at: number,
  dimensions: number,
  scale: number,
): Float32Array {
  const out = new Float32Array(dimensions);
  for (let i = 0; i < dimensions; i++) out[i] = (bytes[at + i] ?? 0) * scale;
  return out;
}
