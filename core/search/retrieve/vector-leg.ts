import { ApiError } from "../../http/api-error.ts";
import { dot, fromBytes } from "../lexical/dense.ts";
import { type InstanceState, vectorTag } from "../instance/instance-state.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import { calibrated, type Calibration } from "../lexical/trained-model.ts";
import { exactVectors, type VectorHit } from "./vector-store.ts";

/** A query vector of the configured embedder, or why there is none. */
export type QueryVector =
  | { readonly model: string; readonly data: Uint8Array }
  | { readonly model: string; readonly failure: string };

/** What the vector leg needs of a search. */
export interface VectorInput {
  readonly query: string;
  readonly vector?: QueryVector | undefined;
}

/** What the vector leg found. */
export interface VectorLeg {
  readonly hits: VectorHit[];
  /** The score of any chunk; null when it has no vector. */
  readonly scoreOf: (chunk: number) => number | null;
}

/** Chunks beyond the limit whose exact scores are looked at: bytes put them in a slightly other order. */
const SPARE = 20;

/**
 * The chunks nearest to a query by cosine, at most `limit`, and the scores of `others`. Found by vectors of bytes and scored
 * by the exact ones. Fails when the query has no usable vector.
 */
export async function vectorLeg(
  state: InstanceState,
  input: VectorInput,
  limit: number,
  allowed: ReadonlySet<string> | null,
  others: readonly number[],
): Promise<VectorLeg> {
  const { context } = state;
  const tag = vectorTag(state.facts());
  const { query, calibration } = await queryVector(state, input);
  const packed = await state.vectors.resident(tag);
  if (packed === null || packed.dimensions !== query.length)
    return { hits: [], scoreOf: () => null };
  const pause = (): Promise<void> => context.system.sleep(0);
  const near = await packed.nearest(query, allowed, limit + SPARE, pause);
  const chunks = [...new Set([...near.map(({ chunk }) => chunk), ...others])];
  const exact = await exactVectors(context, tag, query.length, chunks);
  // A training has finished in the meantime: query and vectors may be of different ones.
  if (vectorTag(state.facts()) !== tag) return vectorLeg(state, input, limit, allowed, others);
  const scores = new Map(
    [...exact].map(([chunk, vector]) => [chunk, calibrated(dot(query, vector, 0), calibration)]),
  );
  const hits = near
    .map(({ chunk, itemId }) => ({ chunk, itemId, score: scores.get(chunk) ?? 0 }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.chunk - b.chunk)
    .slice(0, limit);
  return { hits, scoreOf: (chunk) => scores.get(chunk) ?? null };
}

async function queryVector(
  state: InstanceState,
  input: VectorInput,
): Promise<{ readonly query: Float32Array; readonly calibration: Calibration | null }> {
  const { settings, trainedVersion } = state.facts();
  if (settings.embedding_model === LEXICAL_MODEL) {
    const { model, calibration } = await state.vectors.lexical(trainedVersion);
    return { query: model.embed(input.query), calibration };
  }
  const given = input.vector;
  if (given === undefined || given.model !== settings.embedding_model) {
    throw new ApiError("unavailable", {
      message: `The instance's embedding model "${settings.embedding_model}" is not configured`,
    });
  }
  if ("failure" in given) throw new ApiError("unavailable", { message: given.failure });
  return { query: fromBytes(given.data), calibration: null };
}
