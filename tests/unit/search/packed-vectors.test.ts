import { describe, expect, it } from "vitest";
import { dotKernel, scalarKernel } from "../../../core/search/vectors/dot-kernel.ts";
import { toBlock } from "../../../core/search/vectors/vector-block.ts";
import { type PackedVectors, packedVectors } from "../../../core/search/vectors/packed-vectors.ts";

/** Numbers from -1 to 1, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return (state / 0x7fffffff) * 2 - 1;
  };
}

function unitVectors(count: number, dimensions: number, random: () => number): Float32Array {
  const out = Float32Array.from({ length: count * dimensions }, random);
  for (let n = 0; n < count; n++) {
    const row = out.subarray(n * dimensions, (n + 1) * dimensions);
    const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < dimensions; i++) row[i] = (row[i] ?? 0) / length;
  }
  return out;
}

const never = (): Promise<void> => Promise.resolve();
const chunksOf = async (
  packed: PackedVectors,
  query: Float32Array,
  allowed: ReadonlySet<string> | null = null,
): Promise<number[]> => (await packed.nearest(query, allowed, 10, never)).map(({ chunk }) => chunk);

describe("dotKernel()", () => {
  it("gives what the scalar one gives, for the largest numbers too", () => {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const bytes = new Int8Array(memory.buffer);
    const random = numbers(7);
    for (let i = 0; i < 20_000; i++) bytes[i] = Math.round(random() * 127);
    bytes.fill(-127, 1024, 1072).fill(127, 1072, 1120);
    new Int16Array(memory.buffer, 0, 48).fill(127);
    const run = (kernel: ReturnType<typeof dotKernel>): number[] => {
      kernel(0, 1024, 300, 48, 40_000);
      return [...new Int32Array(memory.buffer, 40_000, 300)];
    };
    expect(run(dotKernel(memory))).toEqual(run(scalarKernel(memory)));
    expect(run(dotKernel(memory)).slice(0, 2)).toEqual([-127 * 127 * 48, 127 * 127 * 48]);
  });
});

describe("packedVectors()", () => {
  const dimensions = 50;
  const random = numbers(1);
  const vectors = unitVectors(9000, dimensions, random);
  const query = unitVectors(1, dimensions, random);
  const exact = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, n) => {
      const at = (from + n) * dimensions;
      return {
        chunk: from + n,
        cosine: query.reduce((sum, value, i) => sum + value * (vectors[at + i] ?? 0), 0),
      };
    })
      .toSorted((a, b) => b.cosine - a.cosine)
      .slice(0, 10)
      .map(({ chunk }) => chunk);
  const rows = (from: number, to: number): Float32Array =>
    vectors.subarray(from * dimensions, to * dimensions);
  const filled = (): PackedVectors => {
    const packed = packedVectors(dimensions);
    packed.add("a", toBlock(0, dimensions, rows(0, 3000)));
    // An item may have several blocks.
    packed.add("b", toBlock(3000, dimensions, rows(3000, 5000)));
    packed.add("b", toBlock(5000, dimensions, rows(5000, 9000)));
    return packed;
  };
  const shared = (a: readonly number[], b: readonly number[]): number =>
    a.filter((chunk) => b.includes(chunk)).length;

  it("finds nearly all of the ten that are nearest", async () => {
    expect(shared(await chunksOf(filled(), query), exact(0, 9000))).toBeGreaterThanOrEqual(9);
  });

  it("finds none of items that a filter leaves out, or that are gone or replaced", async () => {
    const packed = filled();
    const allowed = await chunksOf(packed, query, new Set(["a"]));
    expect(allowed.every((chunk) => chunk < 3000)).toBe(true);
    // More than a third goes: the others are moved together.
    packed.remove("b");
    expect(await chunksOf(packed, query)).toEqual(allowed);
    packed.remove("a");
    packed.add("a", toBlock(20_000, dimensions, rows(3000, 9000)));
    const replaced = await chunksOf(packed, query);
    expect(replaced.every((chunk) => chunk >= 20_000)).toBe(true);
    expect(
      shared(
        replaced,
        exact(3000, 9000).map((chunk) => chunk + 17_000),
      ),
    ).toBeGreaterThanOrEqual(9);
  });

  it("gives back the vectors of chunks, wherever they lie, and of no others", async () => {
    const packed = filled();
    const found = await packed.vectors([0, 2999, 3000, 4999, 5000, 8999, 9000, -1]);
    expect([...found.keys()]).toEqual([0, 2999, 3000, 4999, 5000, 8999]);
    for (const [chunk, vector] of found) {
      const off = vector.map((value, i) =>
        Math.abs(value - (vectors[chunk * dimensions + i] ?? 0)),
      );
      expect(Math.max(...off)).toBeLessThan(0.01);
    }
    packed.remove("a");
    expect([...(await packed.vectors([1, 3001])).keys()]).toEqual([3001]);
  });

  it("orders rows that were found before by another vector, as it orders all", async () => {
    const packed = filled();
    const other = unitVectors(1, dimensions, random);
    const all = await packed.nearest(query, null, 9000, never);
    const again = await packed.nearestOf(other, all, 10);
    const wanted = (await packed.nearest(other, new Set(["a", "b"]), 9000, never)).filter(
      ({ chunk }) => all.some((one) => one.chunk === chunk),
    );
    expect(again).toEqual(wanted.slice(0, 10));
    packed.remove("a");
    expect((await packed.nearestOf(other, all, 10)).every(({ itemId }) => itemId === "b")).toBe(
      true,
    );
  });

  it("keeps equal ones in the order of their chunks, and a limit that hits are fewer than", async () => {
    const packed = packedVectors(16);
    const same = new Float32Array(16 * 500).fill(0.25);
    packed.add("a", toBlock(100, 16, same));
    const found = await packed.nearest(same.subarray(0, 16), null, 3, never);
    expect(found.map(({ chunk }) => chunk)).toEqual([100, 101, 102]);
    expect(await packed.nearest(same.subarray(0, 16), null, 1000, never)).toHaveLength(500);
  });

  it("serves queries side by side", async () => {
    const packed = filled();
    const other = unitVectors(1, dimensions, random);
    const alone = [await chunksOf(packed, query), await chunksOf(packed, other)];
    const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
    const both = await Promise.all(
      [query, other].map((one) => packed.nearest(one, null, 10, pause)),
    );
    expect(both.map((near) => near.map(({ chunk }) => chunk))).toEqual(alone);
  });
});
