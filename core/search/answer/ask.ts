import type { Instance } from "../instance/instance-client.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import { findChunks } from "../retrieve/find-chunks.ts";
import type { SearchOptions } from "../search-deps.ts";
import { type ChatBody, type Query, queryOf, type SearchBody } from "../search-schema.ts";
import type { Answerer } from "./answerer.ts";
import { type ChatInput, chooseModel } from "./chat.ts";
import { rewrittenQuery } from "./rewrite-query.ts";

/** What a search of one instance found. */
export interface SearchResult {
  /** The query that was searched with. */
  readonly search_query: string;
  readonly query_kind: Query["kind"];
  /** Best first. */
  readonly chunks: readonly Chunk[];
  /** What the search did without, e.g. an embedder that did not answer. */
  readonly notes: readonly string[];
}

/** Rewrites the query of a request where it asks for that, and searches one instance. */
export async function searchInstance(
  instance: Instance,
  body: SearchBody,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<SearchResult> {
  const query = queryOf(body, "missing_query_search");
  const text = await rewrittenQuery(query.text, body, options, signal);
  const found = await findChunks(instance, text, body.ai_search_options, options, signal);
  return { search_query: text, query_kind: query.kind, ...found };
}

/** Finds the chunks for a chat over one instance, and the model that is to answer. */
export async function findForChat(
  instance: Instance,
  body: ChatBody,
  options: SearchOptions,
  signal: AbortSignal,
): Promise<{ readonly input: ChatInput; readonly answerer: Answerer }> {
  const query = queryOf(body, "missing_query_chat");
  const text = await rewrittenQuery(query.text, body, options, signal);
  const configured = (await instance.read()).ai_search_model;
  const { model, answerer } = chooseModel(body.model, configured, options);
  const { chunks } = await findChunks(instance, text, body.ai_search_options, options, signal);
  return { input: { query: text, messages: body.messages ?? [], chunks, model }, answerer };
}
