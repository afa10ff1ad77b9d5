import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import { embedQuery } from "../ingest/embed-chunks.ts";
import type { Instance } from "../actor/instance-client.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { chooseReranker, rerank, RERANKED, type Reranking } from "./rerank.ts";
import type { SearchInput, SearchNote } from "../retrieve/search-input.ts";
import type { QueryVector } from "../retrieve/vector-leg.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { withoutOperators } from "../terms/read-operators.ts";
import type { Highlighting } from "../refine/highlight.ts";
import type { Retrieved } from "../retrieve/retrieve.ts";
import type { RetrievalOptions } from "../state/retrieval-schema.ts";
import type { RequestOptions } from "../state/search-schema.ts";

/** The instance that a query searches, and what its request asks for. */
export interface FindInputs {
  readonly instance: Instance;
  readonly settings: InstanceSettings;
  readonly options: RequestOptions | undefined;
  readonly deps: SearchOptions;
  readonly signal: AbortSignal;
}

/** Finds chunks of one instance for a query, with the options of a request. */
export async function findChunks(
  query: string,
  { instance, settings, options, deps, signal }: FindInputs,
): Promise<Retrieved> {
  const asked = options?.retrieval ?? {};
  const reranking = rerankingOf(options, settings, deps);
  const reads = asked.query_operators ?? settings.retrieval_options?.query_operators ?? false;
  const text = reads ? withoutOperators(query) : query;
  const vector = await queryVector(text, { settings, options, deps, signal });
  const input = searchInput(query, asked, vector);
  const notes =
    vector !== undefined && "failure" in vector
      ? [unavailable(`Searched by keywords only: ${vector.failure}`)]
      : [];
  if (reranking === null) {
    const found = await instance.search(input);
    return { ...found, notes: [...notes, ...found.notes] };
  }
  const limit = input.limit ?? settings.max_num_results;
  const found = await instance.search({ ...input, limit: RERANKED, metadataOnly: false });
  const ranked = await reranked(text, found.chunks, reranking, signal);
  const chunks = ranked.chunks.slice(0, limit);
  return {
    ...found,
    places: null,
    chunks: input.metadataOnly === true ? chunks.map((one) => ({ ...one, text: "" })) : chunks,
    notes: [...notes, ...found.notes, ...ranked.notes],
  };
}

/** Returns how a search is reranked; null when it is not. Throws 400 where a request asks for two orders. */
function rerankingOf(
  options: RequestOptions | undefined,
  settings: InstanceSettings,
  deps: SearchOptions,
): Reranking | null {
  const isSorted = (options?.retrieval?.sort ?? []).length > 0;
  if (isSorted && options?.reranking?.enabled === true) {
    throw invalidRequest(
      "ai_search_options.retrieval.sort: reranking orders too; leave one of them out",
    );
  }
  return isSorted ? null : chooseReranker(options?.reranking, settings, deps);
}

/** Returns the chunks as a reranker orders them; in their former order, with a note, when it fails. */
async function reranked(
  query: string,
  chunks: Chunk[],
  reranking: Reranking,
  signal: AbortSignal,
): Promise<Pick<Retrieved, "chunks" | "notes">> {
  try {
    return { chunks: await rerank(query, chunks, reranking, signal), notes: [] };
  } catch (error) {
    signal.throwIfAborted();
    const why =
      error instanceof ApiError
        ? error.message
        : `The reranker "${reranking.reranker.model}" could not be asked`;
    return { chunks, notes: [unavailable(`Not reranked: ${why}`)] };
  }
}

const unavailable = (message: string): SearchNote => ({ name: "unavailable", message });

/** Throws when the instance is switched off. */
export function checkEnabled({ enable, id }: InstanceSettings): void {
  if (enable !== false) return;
  throw new ApiError("instance_disabled", {
    message: `The instance "${id}" is switched off: its setting "enable" is false`,
  });
}

/** Returns the vector of a query when the instance's vectors are of the configured embedder. */
async function queryVector(
  query: string,
  {
    settings: { embedding_model: model, index_method: method },
    options,
    deps: { embedder },
    signal,
  }: Omit<FindInputs, "instance">,
): Promise<QueryVector | undefined> {
  if (embedder === undefined || options?.retrieval?.retrieval_type === "keyword") return undefined;
  return method.vector && model === embedder.model
    ? embedQuery(embedder, query, signal)
    : undefined;
}

function searchInput(
  query: string,
  asked: RetrievalOptions,
  vector: QueryVector | undefined,
): SearchInput {
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
    operators: asked.query_operators,
    typoTolerance: asked.typo_tolerance,
    prefix: asked.prefix,
    facets: asked.facets,
    sort: asked.sort,
    distinct: asked.distinct,
    // Without texts in the answer there is nothing to highlight.
    highlight: asked.metadata_only === true ? undefined : highlighting(asked),
  };
}

function highlighting(asked: RetrievalOptions): Highlighting {
  return {
    attributes_to_highlight: asked.attributes_to_highlight,
    highlight_pre_tag: asked.highlight_pre_tag,
    highlight_post_tag: asked.highlight_post_tag,
    show_matches_position: asked.show_matches_position,
  };
}
