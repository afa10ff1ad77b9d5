/** Scales a vector to length 1 in place; false when it is zero or not finite. */
export function normalize(vector: Float32Array): boolean {
  let sum = 0;
  for (const value of vector) sum += value * value;
  if (!(sum > 0) || !Number.isFinite(sum)) return false;
  const factor = 1 / Math.sqrt(sum);
  for (let i = 0; i < vector.length; i++) vector[i] = (vector[i] ?? 0) * factor;
  return true;
}

/** Returns the dot product of `query` with the vector that begins at `at`: four sums, so that they run in parallel. */
export function dot(query: Float32Array, block: Float32Array, at: number): number {
  const size = query.length;
  const even = size - (size % 4);
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0; i < even; i += 4) {
    a += (query[i] ?? 0) * (block[at + i] ?? 0);
    b += (query[i + 1] ?? 0) * (block[at + i + 1] ?? 0);
    c += (query[i + 2] ?? 0) * (block[at + i + 2] ?? 0);
    d += (query[i + 3] ?? 0) * (block[at + i + 3] ?? 0);
  }
  for (let i = even; i < size; i++) a += (query[i] ?? 0) * (block[at + i] ?? 0);
  return a + b + (c + d);
}

/** Returns the bytes of vectors, for storage and for crossing an actor boundary. */
export function toBytes(vectors: Float32Array): Uint8Array {
  return new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength);
}

/** Returns the vectors that {@link toBytes} made; copies, so that any alignment will do. */
export function fromBytes(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}
