import { ApiError } from "../../http/api-error.ts";
import { dot, fromBytes, normalize } from "../vectors/dense.ts";
import { type InstanceState, vectorTag } from "../state/instance-state.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import { calibrated, type Calibration } from "../lexical/trained-model.ts";
import type { NearRow } from "../vectors/best-rows.ts";

/** A query vector of the configured embedder, or why there is none. */
export type QueryVector =
  | { readonly model: string; readonly data: Uint8Array }
  | { readonly model: string; readonly failure: string };

/** The parts of a search that the vector leg needs. */
export interface VectorInput {
  readonly query: string;
  readonly vector?: QueryVector | undefined;
}

/** A chunk that the vector leg found. */
export interface VectorHit extends Seen {
  readonly chunk: number;
  readonly itemId: string;
}

export interface VectorLeg {
  /** Best first, by how near they are. */
  readonly hits: VectorHit[];
  /** How any chunk was seen; null when it has no vector. */
  readonly seen: (chunk: number) => Seen | null;
  readonly near: NearChunks;
}

/** The chunks nearest to the query alone, as many as were asked for. */
export interface NearChunks {
  readonly hits: readonly VectorHit[];
  /** The score of the nearest one that is not among them; null where no other chunk is similar. */
  readonly next: number | null;
}

/** No chunk is near, and none was looked for. */
export const NONE_NEAR: NearChunks = { hits: [], next: null };

/** How a chunk was seen. */
export interface Seen {
  /** 0 to 1; calibrated for the builtin model, the cosine otherwise. */
  readonly score: number;
  /** The same for the query with what is nearest to it: it orders better, and says less of how good a chunk is. */
  readonly nearness: number;
}

/** Chunks beyond the limit whose scores are looked at: bytes put them in a slightly other order. */
const SPARE = 20;
/** How many of the best chunks of each leg a query takes in, and how much of each (pseudo-relevance feedback, Rocchio 1971). */
const TAKEN_IN = 3;
const SHARE = 0.15;
/** The nearest chunks among which the wider query looks: looking through all of them again would take as long as the first time. */
const LOOKED_AT_AGAIN = 1000;

/** A search's request to the vector leg. */
export interface VectorAsk {
  /** The most hits. */
  readonly limit: number;
  /** The most of {@link VectorLeg.near}. */
  readonly near: number;
  /** Items that may be found; null = all. */
  readonly allowed: ReadonlySet<string> | null;
  /** Whether {@link Beside.expands} may be true. */
  readonly mayExpand: boolean;
  /** Resolves with the other leg's result; that leg may still run. */
  readonly beside: () => Promise<Beside>;
}

/** Facts about the other leg that the vector leg needs. */
export interface Beside {
  /** Chunks that are to be seen beside those that are found, the best first. */
  readonly others: readonly number[];
  /** Whether the query takes in the best of both legs: measured for both legs together only, with learned builtin vectors. */
  readonly expands: boolean;
}

/**
 * The chunks nearest to a query by cosine, and how `others` are seen. Found with the query as bytes and scored with the query
 * as it is. Fails when the query has no usable vector.
 */
export async function vectorLeg(
  state: InstanceState,
  input: VectorInput,
  ask: VectorAsk,
): Promise<VectorLeg> {
  const { context } = state;
  const { limit, allowed } = ask;
  const tag = vectorTag(state.facts());
  // After a start both are read from rows, side by side.
  const reading = state.vectors.index(tag, state.facts().chunks);
  reading.catch(() => undefined);
  const { query, calibration } = await queryVector(state, input);
  const index = await reading;
  if (index === null || index.dimensions !== query.length)
    return { hits: [], seen: () => null, near: NONE_NEAR };
  const bring = limit + SPARE;
  const pause = (): Promise<void> => context.system.sleep(0);
  // One more tells whether there are others.
  const wanted = ask.near === 0 ? 0 : ask.near + 1;
  const look = Math.max(bring, wanted, ask.mayExpand ? LOOKED_AT_AGAIN : 0);
  let near = await index.nearest(query, allowed, look, pause);
  const nearest = near.slice(0, wanted);
  let wider = query;
  const { others, expands } = await ask.beside();
  if (expands && near.length > 0) {
    const taken = near.slice(0, TAKEN_IN).map(({ chunk }) => chunk);
    const first = new Set([...taken, ...others.slice(0, TAKEN_IN)]);
    wider = mixedWith(query, [...(await index.vectors([...first])).values()]);
    near = await index.nearestOf(wider, near, bring);
  }
  near = near.slice(0, bring);
  const looked = [...near, ...nearest].map(({ chunk }) => chunk);
  const vectors = await index.vectors([...new Set([...looked, ...others])]);
  // A training has finished in the meantime: query and vectors may be of different ones.
  if (vectorTag(state.facts()) !== tag) return vectorLeg(state, input, ask);
  const seen = new Map<number, Seen>();
  for (const [chunk, vector] of vectors) {
    const score = calibrated(dot(query, vector, 0), calibration);
    const nearness = wider === query ? score : calibrated(dot(wider, vector, 0), calibration);
    seen.set(chunk, { score, nearness });
  }
  const hits = seenHits(near, seen)
    .filter(({ nearness }) => nearness > 0)
    .toSorted((a, b) => b.nearness - a.nearness || a.chunk - b.chunk)
    .slice(0, limit);
  return { hits, seen: (chunk) => seen.get(chunk) ?? null, near: nearChunks(nearest, seen, ask) };
}

/** Rows with how they were seen. */
function seenHits(rows: readonly NearRow[], seen: ReadonlyMap<number, Seen>): VectorHit[] {
  return rows.flatMap(({ chunk, itemId }) => {
    const one = seen.get(chunk);
    return one === undefined ? [] : [{ chunk, itemId, ...one }];
  });
}

function nearChunks(
  rows: readonly NearRow[],
  seen: ReadonlyMap<number, Seen>,
  { near }: VectorAsk,
): NearChunks {
  const similar = (some: readonly NearRow[]): VectorHit[] =>
    seenHits(some, seen).filter(({ score }) => score > 0);
  const [other] = similar(rows.slice(near));
  return { hits: similar(rows.slice(0, near)), next: other?.score ?? null };
}

/** A query with a share of some vectors, of length 1. */
function mixedWith(query: Float32Array, vectors: readonly Float32Array[]): Float32Array {
  const out = query.slice();
  for (const vector of vectors)
    for (let i = 0; i < out.length; i++) out[i] = (out[i] ?? 0) + SHARE * (vector[i] ?? 0);
  normalize(out);
  return out;
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
