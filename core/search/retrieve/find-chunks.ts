import { ApiError } from "../../http/api-error.ts";
import type { Chunk } from "./chunk-view.ts";
import { embedQuery } from "../items/embed-chunks.ts";
import { type Instance, instanceAt } from "../instance/instance-client.ts";
import type { InstanceSettings } from "../instance/instance-settings.ts";
import { chooseReranker, rerank, RERANKED, type Reranking } from "../answer/rerank.ts";
import type { SearchInput } from "./search-input.ts";
import type { QueryVector } from "./vector-leg.ts";
import type { SearchOptions } from "../search-deps.ts";
import type { RequestOptions } from "../search-schema.ts";

/** Chunks of one instance, and what the search did without. */
export interface FoundChunks {
  readonly chunks: Chunk[];
  readonly notes: readonly string[];
}

/** Chunks of one instance for a query, with the options of a request. */
export async function findChunks(
  instance: Instance,
  settings: InstanceSettings,
  query: string,
  options: RequestOptions | undefined,
  deps: SearchOptions,
  signal: AbortSignal,
): Promise<FoundChunks> {
  const reranking = chooseReranker(options?.reranking, settings, deps);
  const vector = await queryVector(settings, query, options, deps, signal);
  const input = searchInput(query, options, vector);
  const notes =
    vector !== undefined && "failure" in vector
      ? [`Searched by keywords only: ${vector.failure}`]
      : [];
  if (reranking === null) return { chunks: await instance.search(input), notes };
  const limit = input.limit ?? settings.max_num_results;
  const found = await instance.search({ ...input, limit: RERANKED, metadataOnly: false });
  const ranked = await reranked(query, found, reranking, signal);
  const chunks = ranked.chunks.slice(0, limit);
  return {
    chunks: input.metadataOnly === true ? chunks.map((one) => ({ ...one, text: "" })) : chunks,
    notes: [...notes, ...ranked.notes],
  };
}

/** The chunks as a reranker orders them; in their former order, with a note, when it fails. */
async function reranked(
  query: string,
  chunks: Chunk[],
  reranking: Reranking,
  signal: AbortSignal,
): Promise<FoundChunks> {
  try {
    return { chunks: await rerank(query, chunks, reranking, signal), notes: [] };
  } catch (error) {
    signal.throwIfAborted();
    const why =
      error instanceof ApiError
        ? error.message
        : `The reranker "${reranking.reranker.model}" could not be asked`;
    return { chunks, notes: [`Not reranked: ${why}`] };
  }
}

/** Throws when the instance is switched off. */
export function checkEnabled({ enable, id }: InstanceSettings): void {
  if (enable !== false) return;
  throw new ApiError("instance_disabled", {
    message: `The instance "${id}" is switched off: its setting "enable" is false`,
  });
}

/** The vector of a query when the instance's vectors are of the configured embedder. */
async function queryVector(
  { embedding_model: model, index_method: method }: InstanceSettings,
  query: string,
  options: RequestOptions | undefined,
  { embedder }: SearchOptions,
  signal: AbortSignal,
): Promise<QueryVector | undefined> {
  if (embedder === undefined || options?.retrieval?.retrieval_type === "keyword") return undefined;
  return method.vector && model === embedder.model
    ? embedQuery(embedder, query, signal)
    : undefined;
}

function searchInput(
  query: string,
  options: RequestOptions | undefined,
  vector: QueryVector | undefined,
): SearchInput {
  const asked = options?.retrieval ?? {};
  return {
    query,
    type: asked.retrieval_type,
    threshold: asked.match_threshold,
    limit: asked.max_num_results,
    filters: asked.filters === undefined ? undefined : JSON.stringify(asked.filters),
    keywordMode: asked.keyword_match_mode,
    fusion: asked.fusion_method,
    expansion: asked.context_expansion,
    boostBy: asked.boost_by,
    metadataOnly: asked.metadata_only,
    returnOnFailure: asked.return_on_failure,
    vector,
  };
}

/** What went wrong in one of several instances. */
export interface InstanceFailure {
  readonly instance_id: string;
  readonly message: string;
}

/** Chunks of several instances, best first. */
export interface CombinedChunks {
  readonly chunks: Chunk[];
  readonly errors: InstanceFailure[];
}

/** Instances that one search may ask. */
const MAX_INSTANCES = 10;

/**
 * Searches several instances of a namespace. One that fails is reported in `errors`; with
 * `return_on_failure: false` it fails the request (7049).
 */
export async function findAcross(
  account: string,
  namespace: string,
  query: string,
  options: RequestOptions | undefined,
  deps: SearchOptions,
  signal: AbortSignal,
): Promise<CombinedChunks> {
  const ids = [...new Set(options?.instance_ids ?? [])];
  if (ids.length === 0)
    throw new ApiError("invalid_request", {
      message: "ai_search_options.instance_ids: Expected 1 to 10 ids",
    });
  if (ids.length > MAX_INSTANCES) throw new ApiError("too_many_instances");
  const results = await Promise.all(
    ids.map(async (id) => {
      try {
        const instance = instanceAt(deps.platform, { account, namespace, id });
        const settings = await instance.read();
        checkEnabled(settings);
        const { chunks } = await findChunks(instance, settings, query, options, deps, signal);
        return { chunks: chunks.map((chunk) => ({ ...chunk, instance_id: id })), errors: [] };
      } catch (error) {
        signal.throwIfAborted();
        return { chunks: [], errors: [failure(id, error)] };
      }
    }),
  );
  const errors = results.flatMap((result) => result.errors);
  if (
    errors.length > 0 &&
    (options?.retrieval?.return_on_failure === false || errors.length === ids.length)
  ) {
    const why = errors.map((one) => `${one.instance_id}: ${one.message}`).join("; ");
    throw new ApiError("instance_searches_failed", {
      message: `one_or_more_instance_searches_failed: ${why}`,
    });
  }
  const chunks = results.flatMap((result) => result.chunks).toSorted(byScore);
  return { chunks: chunks.slice(0, options?.retrieval?.max_num_results ?? 10), errors };
}

function failure(id: string, error: unknown): InstanceFailure {
  return { instance_id: id, message: error instanceof ApiError ? error.message : "internal error" };
}

function byScore(a: Chunk, b: Chunk): number {
  if (a.score !== b.score) return b.score - a.score;
  return (a.instance_id ?? "") < (b.instance_id ?? "")
    ? -1
    : a.instance_id === b.instance_id
      ? 0
      : 1;
}
