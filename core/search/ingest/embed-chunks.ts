import { ApiError } from "../../http/api-error.ts";
import type { Embedder } from "../../ports.ts";
import { type NewChunk, type NewVectors, embeddedText } from "./commit-item.ts";
import { normalize, toBytes } from "../vectors/dense.ts";
import type { QueryVector } from "../retrieve/vector-leg.ts";

/** Texts of one request to an embedder that does not say its number: Text Embeddings Inference takes no more by default. */
const BATCH = 32;

/** Makes the vectors of all chunks of an item with the configured embedder. Throws when any of them is unusable. */
export async function embedChunks(
  embedder: Embedder,
  chunks: readonly Pick<NewChunk, "heading" | "text">[],
  signal?: AbortSignal,
): Promise<NewVectors> {
  const { batchSize = BATCH, dimensions, model } = embedder;
  const all = new Float32Array(chunks.length * dimensions);
  for (let at = 0; at < chunks.length; at += batchSize) {
    const texts = chunks.slice(at, at + batchSize).map(embeddedText);
    const vectors = await embedder.embed(texts, "document", signal);
    if (vectors.length !== texts.length)
      throw bad(embedder, `${vectors.length} vectors for ${texts.length} texts`);
    for (const [n, vector] of vectors.entries())
      all.set(usable(embedder, vector), (at + n) * dimensions);
  }
  return { model, dimensions, data: toBytes(all) };
}

/** Returns the vector of a query, or the reason why it could not be made. */
export async function embedQuery(
  embedder: Embedder,
  query: string,
  signal?: AbortSignal,
): Promise<QueryVector> {
  try {
    const [vector] = await embedder.embed([query], "query", signal);
    if (vector === undefined) throw bad(embedder, "no vector");
    return { model: embedder.model, data: toBytes(usable(embedder, vector)) };
  } catch (error) {
    signal?.throwIfAborted();
    return {
      model: embedder.model,
      failure: describeFailure(embedder, error),
    };
  }
}

/**
 * Returns a copy of length 1; all zeros stay zeros, which nothing resembles. Throws for a vector that does not fit the
 * embedder.
 */
function usable(embedder: Embedder, vector: Float32Array): Float32Array {
  if (vector.length !== embedder.dimensions) {
    throw bad(
      embedder,
      `vectors of ${vector.length} dimensions, ${embedder.dimensions} are configured`,
    );
  }
  if (!vector.every(Number.isFinite))
    throw bad(embedder, "a vector with numbers that are not finite");
  const copy = vector.slice();
  if (!normalize(copy)) copy.fill(0);
  return copy;
}

function bad(embedder: Embedder, what: string): ApiError {
  return new ApiError("unavailable", {
    message: `The embedder "${embedder.model}" answered ${what}`,
  });
}

/** Describes an embedder's failure for callers: its address and inner errors are for the operator only. */
export function describeFailure(embedder: Embedder | undefined, error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return embedder === undefined
    ? "internal error"
    : `The embedder "${embedder.model}" could not be asked`;
}
