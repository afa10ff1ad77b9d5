import type { ActorContext } from "../../ports.ts";
import { type NearRow, nearestFirst, packedVectors, type VectorIndex } from "./packed-vectors.ts";
import { storedBlocks, storedVectors } from "./vector-rows.ts";

/** Items up to which a filter narrows what is read. */
const FEW = 2_000;

/** Vectors that stay in their rows: each search reads them in slices, of which one is in memory. */
export function streamedVectors(
  context: ActorContext,
  tag: string,
  dimensions: number,
): VectorIndex {
  return {
    dimensions,
    async nearest(query, allowed, limit, pause) {
      const items = allowed !== null && allowed.size <= FEW ? [...allowed] : null;
      let best: NearRow[] = [];
      for await (const blocks of storedBlocks(context, tag, items)) {
        const slice = packedVectors(dimensions);
        for (const { itemId, block } of blocks)
          if (block.dimensions === dimensions && (allowed === null || allowed.has(itemId)))
            slice.add(itemId, block);
        best.push(...(await slice.nearest(query, null, limit, pause)));
        best = best.toSorted(nearestFirst).slice(0, limit);
      }
      return best;
    },
    vectors: (chunks) => storedVectors(context, tag, dimensions, chunks),
  };
}
