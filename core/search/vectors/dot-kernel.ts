import { fromBase64 } from "../../crypto/encoding.ts";

/** Dot products of the bytes at `query` with `count` rows of `size` bytes (a multiple of 16) from `rows` on, as int32 at `out`. */
export type DotKernel = (
  query: number,
  rows: number,
  count: number,
  size: number,
  out: number,
) => void;

/**
 * A WebAssembly module of 196 bytes that imports the memory `m.m` and exports `dots`: for each row, for each 16 bytes,
 * `i16x8.add(i16x8.extmul_low_i8x16_s, i16x8.extmul_high_i8x16_s)`, which bytes of at most 127 do not overflow, then
 * `i32x4.extadd_pairwise_i16x8_s` and `i32x4.add`; the four lanes are added up and stored.
 */
const MODULE: string =
  "AGFzbQEAAAABCQFgBX9/f39/AAIIAQFtAW0CAAEDAgEABwgBBGRvdHMAAAqWAQGTAQIBfwN7IAJFBEAPCwNAQQAh" +
  "Bf0MAAAAAAAAAAAAAAAAAAAAACEGA0AgBiAAIAVq/QAAACIIIAH9AAAAIgf9nAEgCCAH/Z0B/Y4B/X79rgEhBiAB" +
  "QRBqIQEgBUEQaiIFIANIDQALIAQgBv0bACAG/RsBaiAG/RsCaiAG/RsDajYCACAEQQRqIQQgAkEBayICDQALCw==";

/** The kernel over a memory: in WebAssembly with 128-bit vectors, or in JavaScript where no code may be compiled (Workers). */
export function dotKernel(memory: WebAssembly.Memory): DotKernel {
  const bytes = fromBase64(MODULE);
  try {
    if (bytes === null) return scalarKernel(memory);
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      m: { m: memory },
    });
    const dots = exports["dots"];
    // What a module exports has no types.
    return typeof dots === "function" ? (dots as DotKernel) : scalarKernel(memory);
  } catch {
    return scalarKernel(memory);
  }
}

/** The same in JavaScript. */
export function scalarKernel(memory: WebAssembly.Memory): DotKernel {
  return (query, rows, count, size, out) => {
    const bytes = new Int8Array(memory.buffer);
    const sums = new Int32Array(memory.buffer, out, count);
    for (let row = 0, at = rows; row < count; row++, at += size) {
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      for (let i = 0; i < size; i += 4) {
        a += (bytes[query + i] ?? 0) * (bytes[at + i] ?? 0);
        b += (bytes[query + i + 1] ?? 0) * (bytes[at + i + 1] ?? 0);
        c += (bytes[query + i + 2] ?? 0) * (bytes[at + i + 2] ?? 0);
        d += (bytes[query + i + 3] ?? 0) * (bytes[at + i + 3] ?? 0);
      }
      sums[row] = a + b + c + d;
    }
  };
}
