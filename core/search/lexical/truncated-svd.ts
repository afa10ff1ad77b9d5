/** A sparse row: which columns, and their values. */
export interface SparseRow {
  readonly columns: Uint32Array;
  readonly values: Float32Array;
}

/** A long computation; its `yield`s are the places where others may go on. */
export type Pausing<T> = Generator<void, T, void>;

/** Extra dimensions that make a randomised decomposition accurate (Halko, Martinsson, Tropp 2011, section 4). */
const OVERSAMPLING = 16;
/** Rows handled between two pauses: about a millisecond. */
const STRIDE = 64;

/**
 * Computes the first `rank` right singular vectors of a sparse matrix, as a `width` x `rank` matrix in row order:
 * randomised range finder with one power iteration. Deterministic: its random numbers have a fixed seed.
 */
export function* rightSingularVectors(
  rows: readonly SparseRow[],
  width: number,
  rank: number,
): Pausing<Float32Array> {
  const size = Math.min(rank + OVERSAMPLING, rows.length, width);
  const range = yield* times(rows, randomSigns(width, size), size);
  yield* orthonormalize(range, rows.length, size);
  const powered = yield* times(rows, yield* transposedTimes(rows, range, width, size), size);
  yield* orthonormalize(powered, rows.length, size);
  const projected = yield* transposedTimes(rows, powered, width, size);
  const { vectors, values } = yield* symmetricEigen(yield* gram(projected, width, size), size);
  const out = new Float32Array(width * rank);
  for (let k = 0; k < Math.min(rank, size); k++) {
    const scale = Math.sqrt(Math.max(values[k] ?? 0, 0));
    if (scale < 1e-6) break;
    for (let j = 0; j < width; j++) {
      let sum = 0;
      for (let i = 0; i < size; i++)
        sum += (projected[j * size + i] ?? 0) * (vectors[i * size + k] ?? 0);
      out[j * rank + k] = sum / scale;
    }
    yield;
  }
  return out;
}

function randomSigns(width: number, size: number): Float32Array {
  const out = new Float32Array(width * size);
  let state = 0x9e3779b9;
  for (let i = 0; i < out.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    out[i] = state & 1 ? 1 : -1;
  }
  return out;
}

/** rows x dense, where `dense` has `size` columns. */
function* times(
  rows: readonly SparseRow[],
  dense: Float32Array,
  size: number,
): Pausing<Float32Array> {
  const out = new Float32Array(rows.length * size);
  for (const [r, { columns, values }] of rows.entries()) {
    for (const [n, column] of columns.entries()) {
      const value = values[n] ?? 0;
      for (let i = 0, to = r * size, from = column * size; i < size; i++, to++, from++) {
        out[to] = (out[to] ?? 0) + value * (dense[from] ?? 0);
      }
    }
    if (r % STRIDE === STRIDE - 1) yield;
  }
  return out;
}

/** transpose(rows) x dense. */
function* transposedTimes(
  rows: readonly SparseRow[],
  dense: Float32Array,
  width: number,
  size: number,
): Pausing<Float32Array> {
  const out = new Float32Array(width * size);
  for (const [r, { columns, values }] of rows.entries()) {
    for (const [n, column] of columns.entries()) {
      const value = values[n] ?? 0;
      for (let i = 0, to = column * size, from = r * size; i < size; i++, to++, from++) {
        out[to] = (out[to] ?? 0) + value * (dense[from] ?? 0);
      }
    }
    if (r % STRIDE === STRIDE - 1) yield;
  }
  return out;
}

/** Makes the columns orthonormal by modified Gram-Schmidt, run over rows so that memory is read in order. */
function* orthonormalize(matrix: Float32Array, height: number, size: number): Pausing<void> {
  const products = new Float64Array(size);
  const rows = Array.from({ length: height }, (_, r) => matrix.subarray(r * size, (r + 1) * size));
  for (let k = 0; k < size; k++) {
    products.fill(0);
    for (const row of rows) addScaled(products, k, row, row[k] ?? 0);
    const norm = products[k] ?? 0;
    // A column that depends on those before it becomes zero.
    const scale = norm > 1e-12 ? 1 / Math.sqrt(norm) : 0;
    for (const row of rows) {
      const pivot = row[k] ?? 0;
      row[k] = pivot * scale;
      subtractScaled(row, k + 1, products, pivot * scale * scale);
    }
    yield;
  }
}

/** sums[from…] += factor * row[from…] */
function addScaled(sums: Float64Array, from: number, row: Float32Array, factor: number): void {
  if (factor === 0) return;
  for (let i = from; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + factor * (row[i] ?? 0);
}

/** row[from…] -= factor * sums[from…] */
function subtractScaled(row: Float32Array, from: number, sums: Float64Array, factor: number): void {
  if (factor === 0) return;
  for (let i = from; i < sums.length; i++) row[i] = (row[i] ?? 0) - factor * (sums[i] ?? 0);
}

function* gram(matrix: Float32Array, height: number, size: number): Pausing<Float64Array> {
  const out = new Float64Array(size * size);
  for (let r = 0; r < height; r++) {
    for (let i = 0; i < size; i++) {
      const value = matrix[r * size + i] ?? 0;
      if (value === 0) continue;
      for (let j = i; j < size; j++)
        out[i * size + j] = (out[i * size + j] ?? 0) + value * (matrix[r * size + j] ?? 0);
    }
    if (r % STRIDE === STRIDE - 1) yield;
  }
  for (let i = 0; i < size; i++)
    for (let j = 0; j < i; j++) out[i * size + j] = out[j * size + i] ?? 0;
  return out;
}

/** Eigenvectors (columns) and eigenvalues of a symmetric matrix, largest first: cyclic Jacobi rotations. */
function* symmetricEigen(
  input: Float64Array,
  size: number,
): Pausing<{ vectors: Float64Array; values: number[] }> {
  const a = input.slice();
  const v = new Float64Array(size * size);
  const matrices = { a, v, size };
  for (let i = 0; i < size; i++) v[i * size + i] = 1;
  for (let sweep = 0; sweep < 12; sweep++) {
    let rotated = false;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) rotated = rotate(matrices, p, q) || rotated;
      if (p % 8 === 7) yield;
    }
    if (!rotated) break;
  }
  const order = Array.from({ length: size }, (_, i) => i).toSorted(
    (i, j) => (a[j * size + j] ?? 0) - (a[i * size + i] ?? 0),
  );
  const vectors = new Float64Array(size * size);
  for (const [to, from] of order.entries()) {
    for (let i = 0; i < size; i++) vectors[i * size + to] = v[i * size + from] ?? 0;
  }
  return { vectors, values: order.map((i) => a[i * size + i] ?? 0) };
}

/** A symmetric matrix that becomes diagonal, and the rotations that made it so. */
interface Matrices {
  readonly a: Float64Array;
  readonly v: Float64Array;
  readonly size: number;
}

function rotate({ a, v, size }: Matrices, p: number, q: number): boolean {
  const off = a[p * size + q] ?? 0;
  const pp = a[p * size + p] ?? 0;
  const qq = a[q * size + q] ?? 0;
  if (off * off <= 1e-18 * Math.abs(pp * qq) || off === 0) return false;
  const theta = (qq - pp) / (2 * off);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const angle = { c, s: t * c };
  for (let i = 0; i < size; i++) turn(a, i * size + p, i * size + q, angle);
  for (let i = 0; i < size; i++) turn(a, p * size + i, q * size + i, angle);
  for (let i = 0; i < size; i++) turn(v, i * size + p, i * size + q, angle);
  return true;
}

/** Cosine and sine of a rotation. */
interface Angle {
  readonly c: number;
  readonly s: number;
}

function turn(m: Float64Array, x: number, y: number, { c, s }: Angle): void {
  const a = m[x] ?? 0;
  const b = m[y] ?? 0;
  m[x] = c * a - s * b;
  m[y] = s * a + c * b;
}
