import type { KeywordHit } from "./keyword-leg.ts";
import { round } from "../lexical/trained-model.ts";
import type { Seen, VectorHit } from "./vector-leg.ts";

/** How the two legs of a hybrid search were joined; `weighted` is what the builtin vectors get. */
export type FusionMethod = "rrf" | "max" | "weighted";

/** A chunk that was found, with how each leg saw it; null = the leg did not find it (or has no score). */
export interface Candidate {
  readonly chunk: number;
  readonly score: number;
  readonly bm25: number | null;
  readonly keywordRank: number | null;
  readonly vectorScore: number | null;
  readonly vectorRank: number | null;
}

/** Rank that halves a contribution, from the paper on reciprocal rank fusion (Cormack et al. 2009). */
const RRF_K = 60;

/** The hits that {@link fuse} joins. A leg that was not asked is empty. */
export interface Legs {
  readonly keyword: readonly KeywordHit[];
  readonly vector: readonly VectorHit[];
  /** How vectors see a chunk that only the keyword leg found; null when it has none. */
  readonly seen: (chunk: number) => Seen | null;
}

/**
 * Joins the legs into one list of candidates, in no order. Scores lie in 0 to 1.
 * A chunk that the vector leg alone found must reach `threshold`; one that the keyword leg found stays
 * whatever its vector score (docs/compatibility.md).
 *
 * @param vectorWeight share of the vector leg in `weighted`
 */
export function fuse(
  legs: Legs,
  method: FusionMethod,
  vectorWeight: number,
  threshold: number,
): Candidate[] {
  const found = new Map<number, Omit<Candidate, "score"> & Found>();
  for (const [rank, hit] of legs.keyword.entries()) {
    const seen = legs.seen(hit.chunk);
    found.set(hit.chunk, {
      chunk: hit.chunk,
      bm25: hit.bm25,
      value: hit.value,
      keywordRank: rank + 1,
      vectorScore: seen?.score ?? null,
      vectorRank: null,
      nearness: seen?.nearness ?? 0,
    });
  }
  for (const [rank, hit] of legs.vector.entries()) {
    const known = found.get(hit.chunk);
    if (known !== undefined)
      found.set(hit.chunk, {
        ...known,
        vectorScore: hit.score,
        vectorRank: rank + 1,
        nearness: hit.nearness,
      });
    else if (hit.score >= threshold) {
      found.set(hit.chunk, {
        chunk: hit.chunk,
        bm25: null,
        value: 0,
        keywordRank: null,
        vectorScore: hit.score,
        vectorRank: rank + 1,
        nearness: hit.nearness,
      });
    }
  }
  const all = [...found.values()];
  const bestValue = Math.max(0, ...all.map((one) => one.value));
  const vectors = all.map((one) => one.nearness);
  const bestVector = Math.max(0, ...vectors);
  const leastVector = Math.min(bestVector, ...vectors);
  return all.map(({ value, nearness, ...one }) => {
    const keyword = bestValue > 0 ? Math.max(0, value) / bestValue : 0;
    const vector = one.vectorScore ?? 0;
    const share =
      bestVector > leastVector
        ? (nearness - leastVector) / (bestVector - leastVector)
        : Math.sign(bestVector);
    return {
      ...one,
      score: round(scores[method]({ ...one, keyword, vector, share, weight: vectorWeight })),
    };
  });
}

/** How much each leg makes of a chunk, before both are joined. */
interface Found {
  readonly value: number;
  readonly nearness: number;
}

interface Parts {
  readonly keywordRank: number | null;
  readonly vectorRank: number | null;
  /** BM25 relative to the best hit. */
  readonly keyword: number;
  readonly vector: number;
  /** The nearness between the least and the best one. */
  readonly share: number;
  readonly weight: number;
}

const reciprocal = (rank: number | null): number => (rank === null ? 0 : 1 / (RRF_K + rank));

const scores: Readonly<Record<FusionMethod, (seen: Parts) => number>> = {
  // Divided by what two first places reach, so that the best possible score is 1.
  rrf: (seen) => ((reciprocal(seen.keywordRank) + reciprocal(seen.vectorRank)) * (RRF_K + 1)) / 2,
  max: (seen) => Math.max(seen.keyword, seen.vector),
  weighted: (seen) => (1 - seen.weight) * seen.keyword + seen.weight * seen.share,
};

/** The score of a hit when only one leg was asked. */
export function singleLeg(legs: Legs, threshold: number): Candidate[] {
  const bestValue = Math.max(0, ...legs.keyword.map((hit) => hit.value));
  const keyword = legs.keyword.map((hit, rank) => ({
    chunk: hit.chunk,
    score: bestValue > 0 ? round(Math.max(0, hit.value) / bestValue) : 0,
    bm25: hit.bm25,
    keywordRank: rank + 1,
    vectorScore: null,
    vectorRank: null,
  }));
  const vector = legs.vector
    .filter((hit) => hit.score >= threshold)
    .map((hit, rank) => ({
      chunk: hit.chunk,
      score: hit.score,
      bm25: null,
      keywordRank: null,
      vectorScore: hit.score,
      vectorRank: rank + 1,
    }));
  return [...keyword, ...vector];
}
