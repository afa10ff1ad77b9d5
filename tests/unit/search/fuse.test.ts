import { describe, expect, it } from "vitest";
import { fuse, type Legs, singleLeg } from "../../../core/search/retrieve/fuse.ts";

const legs: Legs = {
  keyword: [
    { chunk: 1, bm25: 8, value: 8 },
    { chunk: 2, bm25: 4, value: 4 },
  ],
  vector: [
    { chunk: 2, itemId: "b", score: 0.9, nearness: 0.9 },
    { chunk: 3, itemId: "c", score: 0.3, nearness: 0.3 },
  ],
  seen: (chunk) => (chunk === 1 ? { score: 0.1, nearness: 0.1 } : null),
};
const scores = (method: "rrf" | "max" | "weighted", threshold: number = 0): Map<number, number> =>
  new Map(fuse(legs, method, 0.2, threshold).map(({ chunk, score }) => [chunk, score]));

const found = (threshold: number): number[] =>
  [...scores("rrf", threshold).keys()].toSorted((a, b) => a - b);

describe("fuse()", () => {
  it("drops a chunk that only the vector leg found below the threshold, and no other", () => {
    expect(found(0.4)).toEqual([1, 2]);
    expect(found(0.3)).toEqual([1, 2, 3]);
    expect(found(1)).toEqual([1, 2]);
  });

  it("gives two first places a score of 1 by rank", () => {
    const first = {
      keyword: [legs.keyword[0]!],
      vector: [{ chunk: 1, itemId: "a", score: 0.5, nearness: 0.5 }],
      seen: () => null,
    };
    expect(fuse(first, "rrf", 0.2, 0)[0]?.score).toBe(1);
    expect(scores("rrf").get(2)).toBeGreaterThan(scores("rrf").get(1)!);
  });

  it("takes the better of two normalised scores with max", () => {
    expect(Object.fromEntries(scores("max"))).toEqual({ 1: 1, 2: 0.9, 3: 0.3 });
  });

  it("weighs BM25 relative to the best and vectors between the least and the best", () => {
    expect(Object.fromEntries(scores("weighted"))).toEqual({ 1: 0.8, 2: 0.6, 3: 0.05 });
  });

  it("reports the vector score of a chunk that only the keyword leg found, without a rank", () => {
    const one = fuse(legs, "rrf", 0.2, 0).find(({ chunk }) => chunk === 1);
    expect(one).toMatchObject({ vectorScore: 0.1, vectorRank: null, keywordRank: 1 });
  });
});

describe("singleLeg()", () => {
  it("scores keyword hits relative to the best and applies the threshold to vectors only", () => {
    const empty = { keyword: [], vector: [], seen: () => null };
    expect(singleLeg({ ...empty, keyword: legs.keyword }, 1).map(({ score }) => score)).toEqual([
      1, 0.5,
    ]);
    expect(singleLeg({ ...empty, vector: legs.vector }, 0.4).map(({ chunk }) => chunk)).toEqual([
      2,
    ]);
  });

  it("orders by nearness, and holds the threshold against the score", () => {
    const near = (chunk: number, score: number, nearness: number) => ({
      chunk,
      itemId: "x",
      score,
      nearness,
    });
    const others: Legs = {
      keyword: [],
      vector: [near(1, 0.5, 0.9), near(2, 0.6, 0.8), near(3, 0.3, 0.7)],
      seen: () => null,
    };
    const joined = fuse(others, "weighted", 0.25, 0.4).toSorted((a, b) => b.score - a.score);
    expect(joined.map(({ chunk, vectorScore }) => [chunk, vectorScore])).toEqual([
      [1, 0.5],
      [2, 0.6],
    ]);
  });
});
