import { expecting } from "../../http/fields/misfit.ts";
import * as v from "valibot";
import { ignores, notArray } from "../../http/fields/schema-fields.ts";
import { type Synonyms, synonyms } from "../terms/synonyms.ts";
import { type TypoTolerance, typoTolerance } from "../terms/typo-tolerance.ts";
import { type PublicEndpointParams, publicEndpointParams } from "./public-endpoint.ts";
import { type SourceParams, sourceParams } from "./source-schema.ts";
import { builtinFields, type MetadataField } from "../filter/metadata.ts";

/** Seconds that an answer may be cached. */
type CacheTtl = 600 | 1800 | 3600 | 7200 | 21600 | 43200 | 86400 | 172800 | 259200 | 518400;
type JsonObject = Record<string, unknown>;

/** Settings that a client may send; what is missing keeps its value. */
export interface SettingsChanges {
  readonly ai_gateway_id?: string | null | undefined;
  readonly ai_search_model?: string | null | undefined;
  readonly cache?: boolean | undefined;
  readonly cache_threshold?:
    | "super_strict_match"
    | "close_enough"
    | "flexible_friend"
    | "anything_goes"
    | undefined;
  readonly cache_ttl?: CacheTtl | undefined;
  readonly chunk?: boolean | undefined;
  /** Percent. */
  readonly chunk_overlap?: number | undefined;
  /** Tokens. */
  readonly chunk_size?: number | undefined;
  readonly custom_metadata?: MetadataField[] | null | undefined;
  readonly embedding_model?: string | null | undefined;
  readonly enable?: boolean | undefined;
  readonly fusion_method?: "rrf" | "max" | undefined;
  readonly hybrid_search_enabled?: boolean | undefined;
  readonly index_method?: { readonly vector: boolean; readonly keyword: boolean } | undefined;
  readonly indexing_options?:
    | {
        readonly keyword_tokenizer?: "porter" | "trigram" | undefined;
        readonly use_ocr?: boolean | undefined;
      }
    | null
    | undefined;
  /** Whether questions are kept for the report of what was asked. @default true */
  readonly log_questions?: boolean | undefined;
  readonly max_num_results?: number | undefined;
  readonly metadata?: JsonObject | null | undefined;
  readonly paused?: boolean | undefined;
  readonly public_endpoint_params?: PublicEndpointParams | null | undefined;
  readonly reranking?: boolean | undefined;
  readonly reranking_model?: string | null | undefined;
  readonly retrieval_options?:
    | {
        readonly keyword_match_mode?: "and" | "or" | undefined;
        readonly boost_by?: readonly Boost[] | undefined;
        /** Whether queries are read with phrases in quotation marks and `-exclusions`. @default false */
        readonly query_operators?: boolean | undefined;
      }
    | null
    | undefined;
  readonly rewrite_model?: string | null | undefined;
  readonly rewrite_query?: boolean | undefined;
  readonly score_threshold?: number | undefined;
  readonly source?: string | null | undefined;
  readonly source_params?: SourceParams | null | undefined;
  readonly sync_interval?: number | null | undefined;
  /** Words and phrases that also count as a word, by it. */
  readonly synonyms?: Synonyms | null | undefined;
  readonly token_id?: string | null | undefined;
  readonly type?: "r2" | "web-crawler" | null | undefined;
  /** @default typing errors find nothing */
  readonly typo_tolerance?: TypoTolerance | null | undefined;
}

const trimmed = (max: number) => v.pipe(v.string(), v.maxLength(max));
const model = v.nullish(trimmed(128));
const unit = v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1));
const plainObject = v.pipe(notArray, v.record(v.string(), v.unknown()));

/** The id of an instance, and of a namespace. */
export const instanceId: v.GenericSchema<unknown, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(32),
  v.regex(
    /^[a-z0-9_]+(?:-[a-z0-9_]+)*$/,
    expecting("1 to 32 of a-z, 0-9, _ and single hyphens between them"),
  ),
);

const boost = v.object({
  field: v.pipe(v.string(), v.minLength(1), v.maxLength(64)),
  direction: v.optional(v.picklist(["asc", "desc", "exists", "not_exists"])),
});

/** One entry of `boost_by`. */
export type Boost = {
  readonly field: string;
  readonly direction?: "asc" | "desc" | "exists" | "not_exists" | undefined;
};

/** `boost_by` of an instance or of a request: at most three different fields. */
export const boostBy: v.GenericSchema<unknown, readonly Boost[]> = v.pipe(
  v.array(boost),
  v.maxLength(3),
  v.check(
    (all) => new Set(all.map((one) => one.field)).size === all.length,
    "expected different fields",
  ),
);

const metadataField = v.object({
  field_name: v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(64),
    v.toLowerCase(),
    v.check((name) => !builtinFields.includes(name), "Is a reserved name"),
  ),
  data_type: v.picklist(["text", "number", "boolean", "datetime"]),
});

const customMetadata = v.pipe(
  v.array(metadataField),
  v.maxLength(5),
  v.check(
    (all) => new Set(all.map((one) => one.field_name)).size === all.length,
    "expected different field names",
  ),
);

const entries = {
  ai_gateway_id: v.nullish(trimmed(64)),
  ai_search_model: model,
  cache: v.optional(v.boolean()),
  cache_threshold: v.optional(
    v.picklist(["super_strict_match", "close_enough", "flexible_friend", "anything_goes"]),
  ),
  cache_ttl: v.optional(
    v.picklist([600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 259200, 518400]),
  ),
  chunk: v.optional(v.boolean()),
  chunk_overlap: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(30))),
  chunk_size: v.optional(v.pipe(v.number(), v.integer())),
  custom_metadata: v.nullish(customMetadata),
  embedding_model: model,
  enable: v.optional(v.boolean()),
  fusion_method: v.optional(v.picklist(["rrf", "max"])),
  hybrid_search_enabled: v.optional(v.boolean()),
  index_method: v.optional(
    v.pipe(
      v.object({ vector: v.boolean(), keyword: v.boolean() }),
      v.check((method) => method.vector || method.keyword, "expected vector or keyword to be true"),
    ),
  ),
  indexing_options: v.nullish(
    v.object({
      keyword_tokenizer: v.optional(v.picklist(["porter", "trigram"])),
      use_ocr: v.optional(v.boolean()),
    }),
  ),
  log_questions: v.optional(v.boolean()),
  max_num_results: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50))),
  metadata: v.nullish(plainObject),
  paused: v.optional(v.boolean()),
  public_endpoint_params: v.nullish(publicEndpointParams),
  reranking: v.optional(v.boolean()),
  reranking_model: model,
  retrieval_options: v.nullish(
    v.object({
      keyword_match_mode: v.optional(v.picklist(["and", "or"])),
      boost_by: v.optional(boostBy),
      query_operators: v.optional(v.boolean()),
    }),
  ),
  rewrite_model: model,
  rewrite_query: v.optional(v.boolean()),
  score_threshold: v.optional(unit),
  source: v.nullish(trimmed(1024)),
  source_params: v.nullish(sourceParams),
  sync_interval: v.nullish(v.picklist([900, 1800, 3600, 7200, 14400, 21600, 43200, 86400])),
  synonyms: v.nullish(synonyms),
  token_id: v.nullish(trimmed(64)),
  type: v.nullish(v.picklist(["r2", "web-crawler"])),
  typo_tolerance: v.nullish(typoTolerance),
};

export const updateSchema: v.GenericSchema<unknown, SettingsChanges> = v.pipe(
  v.object(entries),
  // Clients change what they have read, and send all of it back.
  ignores(
    "id",
    "namespace",
    "created_at",
    "modified_at",
    "status",
    "engine_version",
    "public_endpoint_id",
  ),
);

/** The body of a creation. */
export const createSchema: v.GenericSchema<unknown, SettingsChanges & { readonly id: string }> =
  v.object({
    id: instanceId,
    ...entries,
  });
