import { afterEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { ActorContext, Platform } from "../../../core/ports.ts";
import { convertVectors } from "../../../core/search/vectors/convert-vectors.ts";
import { dot, toBytes } from "../../../core/search/vectors/dense.ts";
import { createVectorStore, streamedVectors } from "../../../core/search/lexical/vector-store.ts";
import { toBlock } from "../../../core/search/vectors/vector-block.ts";
import { createVectorBudget } from "../../../core/search/vectors/vector-budget.ts";
import {
  addVectors,
  storedBlocks,
  storedVectors,
} from "../../../core/search/vectors/vector-rows.ts";
import { insideInstance } from "../../fakes/inside-instance.ts";
import { searchUnderTest } from "../../fakes/search-api.ts";

// Vectors in rows: one byte a number; those of former versions are taken over; without room they stay there.

let platform: Platform;
afterEach(() => platform.close());

const SIZE = 700;
const vector = (seed: number): Float32Array => {
  const out = Float32Array.from({ length: SIZE }, (_, i) => Math.sin(seed * 7919 + i * (seed + 1)));
  const length = Math.hypot(...out);
  return out.map((value) => value / length);
};
const vectors = (from: number, count: number): Float32Array => {
  const out = new Float32Array(count * SIZE);
  for (let n = 0; n < count; n++) out.set(vector(from + n), n * SIZE);
  return out;
};

async function inside<T>(run: (context: ActorContext) => Promise<T>): Promise<T> {
  platform = await openPlatform();
  return insideInstance(platform, run);
}

/** An item with chunks, so that rows of vectors have something to be of. */
async function addItem(
  { name, sql }: ActorContext,
  id: string,
  first: number,
  count: number,
): Promise<void> {
  await sql.batch(
    Array.from({ length: count }, (_, ord) => ({
      sql: `INSERT INTO search_chunks (actor, id, item_id, ord, start_byte, end_byte, heading, text)
        VALUES (?, ?, ?, ?, 0, 0, '', 'x')`,
      params: [name, first + ord, id, ord],
    })),
  );
}

describe("rows of vectors", () => {
  it("come back in slices that memory can hold, in the order of items, without a gap", async () => {
    const sizes = [1, 400, 1, 7000];
    const found = await inside(async (context) => {
      let first = 1;
      for (const [n, count] of sizes.entries()) {
        const block = toBlock(first, SIZE, new Float32Array(count * SIZE).fill(0.01 * (n + 1)));
        await context.sql.batch(addVectors(context.name, `item-${n}`, "model", block));
        first += count;
      }
      const slices: { bytes: number; chunks: number[] }[] = [];
      for await (const blocks of storedBlocks(context, "model")) {
        const bytes = blocks.reduce((sum, { block }) => sum + block.bytes.length, 0);
        slices.push({
          bytes,
          chunks: blocks.flatMap(({ block }) =>
            [...block.scales.keys()].map((n) => block.first + n),
          ),
        });
      }
      return slices;
    });
    expect(found.length).toBeGreaterThan(1);
    expect(Math.max(...found.map(({ bytes }) => bytes))).toBeLessThan(5 * 1024 * 1024);
    const total = sizes.reduce((sum, count) => sum + count, 0);
    expect(found.flatMap(({ chunks }) => chunks)).toEqual(
      Array.from({ length: total }, (_, n) => n + 1),
    );
  });

  it("of four bytes a number are taken over, also where that was cut off", async () => {
    const [cosines, left, again] = await inside(async (context) => {
      const { name, sql } = context;
      // 357 vectors of 700 numbers were one row of the former format.
      await addItem(context, "long", 10, 400);
      await addItem(context, "short", 500, 2);
      const old = (item: string, part: number, from: number, count: number) => ({
        sql: "INSERT INTO search_item_vectors (actor, model, item_id, part, dimensions, data) VALUES (?, ?, ?, ?, ?, ?)",
        params: [name, "model", item, part, SIZE, toBytes(vectors(from, count))],
      });
      await sql.batch([
        old("long", 0, 10, 357),
        old("long", 1, 367, 43),
        old("short", 0, 500, 2),
        // Its item is gone.
        old("gone", 0, 0, 1),
      ]);
      await convertVectors(context);
      await convertVectors(context);
      const rows = await sql.all("SELECT * FROM search_item_vectors WHERE actor = ?", [name]);
      const chunks = [10, 366, 367, 409, 500, 501, 502];
      const found = await Promise.all(
        chunks.map((chunk) => storedVectors(context, "model", SIZE, [chunk])),
      );
      const { nearest } = streamedVectors(context, "model", SIZE);
      const near = await nearest(vector(400), null, 1, () => Promise.resolve());
      const likeness = found.map((one) =>
        [...one].map(([chunk, value]) => dot(vector(chunk), value, 0)),
      );
      return [likeness, rows.length, near[0]?.chunk];
    });
    expect(left).toBe(0);
    expect(cosines.slice(0, 6).flat()).toHaveLength(6);
    for (const cosine of cosines.flat()) expect(cosine).toBeCloseTo(1, 2);
    expect(cosines[6]).toEqual([]);
    expect(again).toBe(400);
  });

  it("give the same from rows as from memory, filtered too", async () => {
    const [both, filtered] = await inside(async (context) => {
      for (const [n, id] of ["a", "b", "c"].entries()) {
        const first = 1 + n * 300;
        await addItem(context, id, first, 300);
        await context.sql.batch(
          addVectors(context.name, id, "m", toBlock(first, SIZE, vectors(first, 300))),
        );
      }
      const budgets = [1024 ** 3, 1000].map((bytes) => createVectorBudget(bytes, () => 0));
      const stores = budgets.map((budget) => createVectorStore(context, budget));
      const ask = async (allowed: ReadonlySet<string> | null): Promise<unknown[]> =>
        Promise.all(
          stores.map(async (store) => {
            const index = await store.index("m", 900);
            const near = await index?.nearest(vector(450), allowed, 20, () => Promise.resolve());
            const stored = await index?.vectors([1, 450, 900, 901]);
            return [near, [...(stored ?? [])].toSorted(([a], [b]) => a - b), store.isStreamed()];
          }),
        );
      return [await ask(null), await ask(new Set(["a", "c"]))];
    });
    for (const [memory, rows] of [both, filtered] as [unknown[], unknown[]][]) {
      expect(rows.slice(0, 2)).toEqual(memory.slice(0, 2));
      expect([memory[2], rows[2]]).toEqual([false, true]);
    }
    expect(JSON.stringify(filtered)).not.toContain('"b"');
  });
});

describe("the memory of vectors", () => {
  it("goes to those that are used, and to nobody beyond its size", async () => {
    platform = await openPlatform();
    let now = 0;
    const evicted: string[] = [];
    const budget = createVectorBudget(100, () => now);
    const [a, b, c] = [{}, {}, {}];
    const take = (owner: object, name: string, bytes: number): boolean =>
      budget.take(owner, bytes, () => evicted.push(name));
    expect([take(a, "a", 60), take(b, "b", 40), take(c, "c", 101)]).toEqual([true, true, false]);
    // Both are in use.
    expect(take(c, "c", 10)).toBe(false);
    now = 60_000;
    budget.touch(a);
    expect([take(c, "c", 10), evicted]).toEqual([true, ["b"]]);
    expect(take(b, "b", 50)).toBe(false);
    budget.release(a);
    expect(take(b, "b", 50)).toBe(true);
  });

  it("is a count of bytes", async () => {
    platform = await openPlatform();
    for (const bytes of [-1, Number.NaN])
      expect(() => createVectorBudget(bytes, () => 0)).toThrow("expected a count of bytes");
  });

  it("that has no room leaves an instance searching from its rows, and the instance says so", async () => {
    const api = await searchUnderTest({ vectorMemoryBytes: 1 });
    ({ platform } = api);
    const stats = async (): Promise<unknown> =>
      (await api.call("GET", "/instances/main/stats")).body.result.engine.vectorize;
    await api.upload("a.md", "The heron nests in the reeds.");
    await api.upload("b.md", "Bread and butter.");
    const search = () =>
      api.search("herons nesting", { retrieval_type: "vector", match_threshold: 0 });
    expect((await search())[0]?.item.key).toBe("a.md");
    expect(await stats()).toMatchObject({ vectorsCount: 2, streamed: true });
    // What changes is seen at once.
    await api.upload("c.md", "Herons nesting.");
    expect((await search())[0]?.item.key).toBe("c.md");
    const other = await searchUnderTest();
    await other.upload("a.md", "The heron nests in the reeds.");
    await other.search("herons", { retrieval_type: "vector" });
    expect(JSON.stringify((await other.call("GET", "/instances/main/stats")).body)).not.toContain(
      "streamed",
    );
    await other.platform.close();
  });
});
