import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { instanceAt } from "../actor/instance-client.ts";
import { addFacets, type Facets } from "../refine/facets.ts";
import { comparePlaces, firstOfEach, type ItemPlace } from "../refine/order.ts";
import { type AskedWords, joinedWords } from "../retrieve/coverage.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import { checkEnabled, findChunks } from "./find-chunks.ts";
import type { Retrieved } from "../retrieve/retrieve.ts";
import type { SearchNote } from "../retrieve/search-input.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import type { RequestOptions } from "../state/search-schema.ts";

/** The failure of one of several instances. */
export interface InstanceFailure {
  readonly instance_id: string;
  readonly message: string;
}

/** Chunks of several instances, best first or as `sort` says. */
export interface CombinedChunks {
  readonly chunks: Chunk[];
  /** The sum over the instances; null without requested facets. */
  readonly facets: Facets | null;
  readonly errors: InstanceFailure[];
  readonly notes: readonly SearchNote[];
  readonly asked: AskedWords;
}

/** Instances that one search may ask. */
const MAX_INSTANCES = 10;

/** The namespace that a query searches, and what its request asks for. */
export interface AcrossInputs {
  readonly account: string;
  readonly namespace: string;
  readonly options: RequestOptions | undefined;
  readonly deps: SearchOptions;
  readonly signal: AbortSignal;
}

/**
 * Searches several instances of a namespace. One that fails is reported in `errors`; with
 * `return_on_failure: false` it fails the request (7049).
 */
export async function findAcross(
  query: string,
  { account, namespace, options, deps, signal }: AcrossInputs,
): Promise<CombinedChunks> {
  const ids = [...new Set(options?.instance_ids ?? [])];
  if (ids.length === 0)
    throw invalidRequest(
      'Missing field "ai_search_options.instance_ids": a list of 1 to 10 ids of instances',
    );
  if (ids.length > MAX_INSTANCES) throw new ApiError("too_many_instances");
  const results = await Promise.all(
    ids.map(async (id) => {
      try {
        const instance = instanceAt(deps.platform, { account, namespace, id });
        const settings = await instance.read();
        checkEnabled(settings);
        const found = await findChunks(query, { instance, settings, options, deps, signal });
        const notes = found.notes.map((note) => ({ ...note, message: `${id}: ${note.message}` }));
        return {
          ...placed(id, found),
          facets: found.facets,
          asked: [found.asked],
          errors: [],
          notes,
        };
      } catch (error) {
        signal.throwIfAborted();
        return { placed: [], facets: null, asked: [], errors: [failure(id, error)], notes: [] };
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
  const asked = options?.retrieval ?? {};
  const sort = (asked.sort ?? []).map((entry) => ({ descending: entry.endsWith(":desc") }));
  const all = results
    .flatMap((result) => result.placed)
    .toSorted((a, b) => comparePlaces({ sort }, a.place, b.place) || byScore(a.chunk, b.chunk));
  const chunks = firstOfEach(all, ({ place }) => place.group).map(({ chunk }) => chunk);
  const facets = results.flatMap((result) => (result.facets === null ? [] : [result.facets]));
  return {
    chunks: chunks.slice(0, asked.max_num_results ?? 10),
    facets: facets.length === 0 ? null : addFacets(facets),
    errors,
    notes: results.flatMap((result) => result.notes),
    asked: joinedWords(results.flatMap((result) => result.asked)),
  };
}

interface PlacedChunk {
  readonly chunk: Chunk;
  readonly place: ItemPlace;
}

const NOWHERE: ItemPlace = { values: [], group: null };

/** Returns the chunks of an instance with where they stand. */
function placed(id: string, { chunks, places }: Retrieved): { readonly placed: PlacedChunk[] } {
  return {
    placed: chunks.map((chunk, n) => ({
      chunk: { ...chunk, instance_id: id },
      place: places?.[n] ?? NOWHERE,
    })),
  };
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
