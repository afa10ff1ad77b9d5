import {
  type ModelNames,
  EXTRACTIVE_MODEL,
  checkReranker,
  noChatModel,
  noRewriting,
} from "../models/models.ts";
import { ApiError } from "../../http/api-error.ts";
import type { SettingsChanges } from "./instance-schema.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import type { MetadataField } from "../filter/metadata.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { sourceOf, sourceType, SYNC_INTERVAL } from "./check-source.ts";
import { withoutEffect } from "./source-errors.ts";
import { toHex } from "../../crypto/encoding.ts";
import { type PublicEndpoint, publicEndpoint } from "./public-endpoint.ts";

/** Largest chunk in tokens: what common embedding models read at once. */
const MAX_CHUNK_SIZE = 8_192;

/** The settings of an instance as they are stored and shown. */
export interface InstanceSettings extends SettingsChanges {
  /** The id in the address of its public endpoint, the same one for ever; null until the endpoint was open once. */
  readonly public_endpoint_id?: string | null;
  readonly public_endpoint_params?: PublicEndpoint | null;
  /** The headers of the source, sealed: `source_params` has their names alone. Never shown. */
  readonly sealed_headers?: string | null;
  readonly id: string;
  readonly namespace: string;
  readonly created_at: string;
  readonly modified_at: string;
  readonly chunk: boolean;
  readonly chunk_size: number;
  readonly chunk_overlap: number;
  readonly custom_metadata: MetadataField[];
  readonly embedding_model: string;
  /** Empty = the installation's chat model, whichever that is when the question comes. */
  readonly ai_search_model: string;
  readonly index_method: { readonly vector: boolean; readonly keyword: boolean };
  readonly fusion_method: "rrf" | "max";
  readonly max_num_results: number;
  readonly score_threshold: number;
  readonly engine_version: number;
  readonly status: string;
}

/** The time and the models of the installation, by which settings are completed and checked. */
export interface SettingsContext {
  readonly namespace: string;
  readonly now: string;
  readonly names: ModelNames;
  readonly options: SourceOptions;
}

/** Makes the settings of a new instance: the changes over the defaults (docs/search.md). Throws 7010, 7036. */
export function newSettings(
  changes: SettingsChanges & { readonly id: string },
  { namespace, now, names, options }: SettingsContext,
): InstanceSettings {
  const base: InstanceSettings = {
    id: changes.id,
    namespace,
    created_at: now,
    modified_at: now,
    ai_gateway_id: null,
    ai_search_model: "",
    cache: true,
    cache_threshold: "super_strict_match",
    cache_ttl: 172800,
    chunk: true,
    chunk_overlap: 10,
    chunk_size: 256,
    custom_metadata: [],
    embedding_model: names.embedder ?? LEXICAL_MODEL,
    enable: true,
    engine_version: 3,
    fusion_method: "rrf",
    hybrid_search_enabled: true,
    index_method: { vector: true, keyword: true },
    log_questions: true,
    indexing_options: { keyword_tokenizer: "porter" },
    max_num_results: 10,
    metadata: {},
    paused: false,
    public_endpoint_id: null,
    public_endpoint_params: null,
    reranking: false,
    reranking_model: null,
    retrieval_options: null,
    rewrite_model: null,
    rewrite_query: false,
    score_threshold: 0.4,
    source: null,
    source_params: null,
    status: "ready",
    type: null,
  };
  return changedSettings(base, changes, { now, names, options });
}

/** Settings after a change. Throws 7010 for a model that is not here and 7036 for a chunk size out of bounds. */
export function changedSettings(
  old: InstanceSettings,
  changes: SettingsChanges,
  { now, names, options }: Omit<SettingsContext, "namespace">,
): InstanceSettings {
  checkEffects(changes, names);
  const { hybrid_search_enabled: hybrid, ...rest } = changes;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const merged = { ...old, ...given, id: old.id, modified_at: now } as InstanceSettings;
  const next = touchesSource(changes) ? withSource(merged, changes.type ?? null, options) : merged;
  const method =
    changes.index_method ??
    (hybrid === undefined ? old.index_method : { vector: true, keyword: hybrid });
  const size = next.chunk_size;
  if (size < 64 || size > MAX_CHUNK_SIZE) {
    throw new ApiError("invalid_chunk_size", {
      message: `invalid_chunk_size: chunk_size is 64 to ${MAX_CHUNK_SIZE} tokens`,
    });
  }
  checkKeywords(next, method.keyword);
  return {
    ...next,
    ...publicEndpointOf(old, changes, options),
    index_method: method,
    hybrid_search_enabled: method.vector && method.keyword,
    custom_metadata: next.custom_metadata ?? [],
    embedding_model: embeddingModel(next.embedding_model, names),
    ai_search_model: next.ai_search_model ?? "",
  };
}

/** The public endpoint after a change. Its id is made when it is first opened. */
function publicEndpointOf(
  old: InstanceSettings,
  { public_endpoint_params: given }: SettingsChanges,
  { platform: { system } }: SourceOptions,
): Pick<InstanceSettings, "public_endpoint_id" | "public_endpoint_params"> {
  const kept = old.public_endpoint_params ?? null;
  const params = given === undefined ? kept : given === null ? null : publicEndpoint(given);
  const id = old.public_endpoint_id ?? null;
  return {
    public_endpoint_params: params,
    public_endpoint_id: id ?? (params?.enabled === true ? toHex(system.random(16)) : null),
  };
}

/** Throws for settings that would have no effect. */
function checkEffects(changes: SettingsChanges, names: ModelNames): void {
  if (changes.indexing_options?.use_ocr === true && !names.readsPictures)
    throw withoutEffect(
      "indexing_options.use_ocr",
      "nothing here reads pictures: set `search.ocr`",
    );
  if (changes.rewrite_query === true && names.chat === EXTRACTIVE_MODEL)
    throw noRewriting("rewrite_query");
  checkReranker(changes.reranking_model ?? "", names.reranker);
  const model = changes.ai_search_model ?? "";
  if (names.chat === EXTRACTIVE_MODEL && model !== "" && model !== EXTRACTIVE_MODEL)
    throw noChatModel(model);
}

/** Throws for settings of the keyword index that it could not follow. */
function checkKeywords(next: InstanceSettings, hasKeywords: boolean): void {
  const isTolerant = next.typo_tolerance != null && next.typo_tolerance.enabled !== false;
  const hasSynonyms = Object.keys(next.synonyms ?? {}).length > 0;
  if (!hasKeywords && isTolerant)
    throw withoutEffect("typo_tolerance", "the instance has no keyword index");
  if (!hasKeywords && hasSynonyms)
    throw withoutEffect("synonyms", "the instance has no keyword index");
  if (isTolerant && next.indexing_options?.keyword_tokenizer === "trigram")
    throw withoutEffect("typo_tolerance", 'the tokenizer "trigram" knows no words');
}

/** The options that decide which sources are possible. */
type SourceOptions = Pick<SearchOptions, "bucket" | "crawler" | "platform">;

function touchesSource(changes: SettingsChanges): boolean {
  const { type, source, source_params: params, sync_interval: interval, token_id: token } = changes;
  return [type, source, params, interval, token].some((value) => value !== undefined);
}

/** Settings whose source is checked, with its type and its schedule. */
function withSource(
  settings: InstanceSettings,
  given: InstanceSettings["type"],
  options: SourceOptions,
): InstanceSettings {
  const hasSource = settings.source != null && settings.source.trim() !== "";
  const next = { ...settings, type: hasSource ? sourceType(settings) : given };
  const source = sourceOf(next, options);
  return source === null
    ? next
    : { ...next, sync_interval: settings.sync_interval ?? SYNC_INTERVAL };
}

function embeddingModel(name: string | null, names: ModelNames): string {
  if (name === null || name === "") return names.embedder ?? LEXICAL_MODEL;
  if (name === LEXICAL_MODEL || name === names.embedder) return name;
  const known = names.embedder === null ? [LEXICAL_MODEL] : [LEXICAL_MODEL, names.embedder];
  throw new ApiError("invalid_model", {
    message: `invalid_model: embedding_model "${name.slice(0, 64)}" is not configured here; use ${known.map((one) => `"${one}"`).join(" or ")}`,
  });
}

/** The settings of an instance as the API shows them. */
export type ShownInstance = Omit<InstanceSettings, "sealed_headers">;

/** Returns the settings as the API shows them: with the name of the chat model that answers. */
export function shownSettings(settings: InstanceSettings, names: ModelNames): ShownInstance {
  const { sealed_headers: _, ...shown } = settings;
  return shown.ai_search_model === "" ? { ...shown, ai_search_model: names.chat } : shown;
}

/** Whether an instance's vectors come from an embedder that is asked over the network. */
export function isRemote({
  index_method: method,
  embedding_model: model,
}: InstanceSettings): boolean {
  return method.vector && model !== LEXICAL_MODEL;
}

/** Counts up when the same content makes other chunks or other words of the index: a sync job then indexes again. */
const INDEXING = 5;

/** Returns the settings that decide how content is indexed, as text: an item with another recipe is indexed again. */
export function recipeOf(settings: InstanceSettings): string {
  const { chunk, chunk_size: size, chunk_overlap: overlap } = settings;
  const { embedding_model: model, index_method: method } = settings;
  return JSON.stringify([INDEXING, chunk, size, overlap, method, model]);
}
