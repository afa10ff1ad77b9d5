import type { SearchNote } from "../retrieve/search-input.ts";
import type { Instance } from "../actor/instance-client.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { Facets } from "../refine/facets.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import { checkEnabled, findChunks } from "./find-chunks.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import {
  type ChatBody,
  modelParameters,
  type Query,
  queryOf,
  type SearchBody,
} from "../state/search-schema.ts";
import { cachedAnswerer, type CacheStatus } from "./answer-cache.ts";
import type { Answerer } from "../retrieve/answerer.ts";
import { type ChatInput, chooseModel } from "./chat.ts";
import { rewrittenQuery } from "./rewrite-query.ts";

/** The result of a search in one instance; `facet_distribution` and `facet_stats` where facets were asked for. */
export interface SearchResult extends Partial<Facets> {
  /** The query that was searched with. */
  readonly search_query: string;
  readonly query_kind: Query["kind"];
  /** Best first. */
  readonly chunks: readonly Chunk[];
  /** Parts that the search had to leave out, e.g. an embedder that did not answer. */
  readonly notes: readonly string[];
}

/** The same with the kinds of its notes, which an answer over HTTP names by their codes. */
export interface SearchFindings extends Omit<SearchResult, "notes"> {
  readonly notes: readonly SearchNote[];
}

/** Rewrites the query of a request where it asks for that, and searches one instance. */
export async function searchInstance(
  instance: Instance,
  body: SearchBody,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<SearchFindings> {
  const query = queryOf(body, "missing_query_search");
  const settings = await enabled(instance);
  const text = await rewrittenQuery(query.text, { body, settings, options, signal });
  const found = await findChunks(text, {
    instance,
    settings,
    options: body.ai_search_options,
    deps: options,
    signal,
  });
  const { chunks, notes, facets } = found;
  return { search_query: text, query_kind: query.kind, chunks, ...facets, notes };
}

/** A chat whose chunks were found. */
export interface FoundForChat {
  readonly input: ChatInput;
  readonly answerer: Answerer;
  /** Whether the answer was given before; null where no cache is asked. */
  readonly cacheStatus: CacheStatus | null;
}

/** Finds the chunks for a chat over one instance, and who is to answer. */
export async function findForChat(
  instance: Instance,
  body: ChatBody,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<FoundForChat> {
  const query = queryOf({ messages: body.messages }, "missing_query_chat");
  const parameters = modelParameters(body);
  const settings = await enabled(instance);
  const text = await rewrittenQuery(query.text, { body, settings, options, signal });
  const { model, answerer } = chooseModel(
    body.model,
    settings.ai_search_model,
    parameters,
    options,
  );
  const { chunks, asked } = await findChunks(text, {
    instance,
    settings,
    options: body.ai_search_options,
    deps: options,
    signal,
  });
  const wantsUsage = body.stream_options?.include_usage === true;
  const messages = body.messages ?? [];
  const input = { query: text, messages, chunks, asked, model, parameters, wantsUsage };
  const cached = await cachedAnswerer(answerer, {
    instance,
    input,
    asked: { body, settings },
    deps: options,
  });
  return { input, ...cached };
}

async function enabled(instance: Instance): Promise<InstanceSettings> {
  const settings = await instance.read();
  checkEnabled(settings);
  return settings;
}
