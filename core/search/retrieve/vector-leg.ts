import { ApiError } from "../../http/api-error.ts";
import { dot, fromBytes } from "../lexical/dense.ts";
import { type InstanceState, vectorTag } from "../instance/instance-state.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import { calibrated, type Calibration } from "../lexical/trained-model.ts";
import { type ItemVectors, scan, type VectorHit } from "./vector-store.ts";

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

/** The chunks nearest to a query by cosine, at most `limit`. Fails when the query has no usable vector. */
export async function vectorLeg(
  state: InstanceState,
  input: VectorInput,
  limit: number,
  allowed: ReadonlySet<string> | null,
): Promise<VectorLeg> {
  const tag = vectorTag(state.facts());
  const { query, calibration } = await queryVector(state, input);
  const items = await state.vectors.resident(tag);
  // A training has finished in the meantime: query and vectors may be of different ones.
  if (vectorTag(state.facts()) !== tag) return vectorLeg(state, input, limit, allowed);
  const pause = (): Promise<void> => state.context.system.sleep(0);
  const hits = await scan(items, query, allowed, calibration, limit, pause);
  return { hits, scoreOf: scorer(items, query, calibration) };
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

/** Looks up the vector of one chunk, for chunks that only the keyword leg found. */
function scorer(
  items: ReadonlyMap<string, ItemVectors>,
  query: Float32Array,
  calibration: Calibration | null,
): (chunk: number) => number | null {
  let ordered: readonly ItemVectors[] | null = null;
  return (chunk) => {
    ordered ??= [...items.values()].toSorted((a, b) => a.first - b.first);
    const owner = lastBefore(ordered, chunk);
    if (owner === null || owner.dimensions !== query.length) return null;
    const at = (chunk - owner.first) * owner.dimensions;
    return at >= owner.vectors.length
      ? null
      : calibrated(dot(query, owner.vectors, at), calibration);
  };
}

function lastBefore(ordered: readonly ItemVectors[], chunk: number): ItemVectors | null {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ordered[middle]?.first ?? 0) <= chunk) low = middle + 1;
    else high = middle;
  }
  return ordered[low - 1] ?? null;
}
