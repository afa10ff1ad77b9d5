import * as v from "valibot";
import type { ChatCompletion } from "../../../core/search/answer/chat.ts";
import type { Namespace } from "../../../core/search/directory/namespace-store.ts";
import type { ItemChunk, ItemLog } from "../../../core/search/ingest/item-details.ts";
import type { Item, ItemWarning } from "../../../core/search/rows/item-record.ts";
import type { JobLog, SyncJob } from "../../../core/search/rows/job-store.ts";
import type { Metadata } from "../../../core/search/filter/metadata.ts";
import type { InstanceFailure } from "../../../core/search/answer/find-across.ts";
import { synonyms } from "../../../core/search/terms/synonyms.ts";
import { typoTolerance } from "../../../core/search/terms/typo-tolerance.ts";
import type { Facets } from "../../../core/search/refine/facets.ts";
import type { Chunk } from "../../../core/search/retrieve/chunk-view.ts";
import type { SearchToken } from "../../../core/search/directory/token-store.ts";
import { instant } from "./parts.ts";

const text = v.nullable(v.string());
const free = v.nullable(v.record(v.string(), v.unknown()));

const metadata: v.GenericSchema<Metadata> = v.record(
  v.string(),
  v.union([v.string(), v.number(), v.boolean()]),
);

const instance = v.object({
  id: v.string(),
  namespace: v.string(),
  created_at: instant,
  modified_at: instant,
  ai_gateway_id: text,
  ai_search_model: v.string(),
  cache: v.boolean(),
  cache_threshold: v.picklist([
    "super_strict_match",
    "close_enough",
    "flexible_friend",
    "anything_goes",
  ]),
  cache_ttl: v.number(),
  chunk: v.boolean(),
  chunk_overlap: v.number(),
  chunk_size: v.number(),
  custom_metadata: v.array(
    v.object({
      field_name: v.string(),
      data_type: v.picklist(["text", "number", "boolean", "datetime"]),
    }),
  ),
  embedding_model: v.string(),
  enable: v.boolean(),
  engine_version: v.number(),
  fusion_method: v.picklist(["rrf", "max"]),
  hybrid_search_enabled: v.boolean(),
  index_method: v.object({ vector: v.boolean(), keyword: v.boolean() }),
  indexing_options: v.nullable(
    v.object({
      keyword_tokenizer: v.exactOptional(v.picklist(["porter", "trigram"])),
      use_ocr: v.exactOptional(v.boolean()),
    }),
  ),
  max_num_results: v.number(),
  metadata: free,
  paused: v.boolean(),
  public_endpoint_params: free,
  reranking: v.boolean(),
  reranking_model: text,
  retrieval_options: v.nullable(
    v.object({
      keyword_match_mode: v.exactOptional(v.picklist(["and", "or"])),
      query_operators: v.exactOptional(v.boolean()),
      boost_by: v.exactOptional(
        v.array(
          v.object({
            field: v.string(),
            direction: v.exactOptional(v.picklist(["asc", "desc", "exists", "not_exists"])),
          }),
        ),
      ),
    }),
  ),
  rewrite_model: text,
  rewrite_query: v.boolean(),
  score_threshold: v.number(),
  source: text,
  source_params: free,
  status: v.string(),
  sync_interval: v.exactOptional(v.nullable(v.number())),
  synonyms: v.exactOptional(v.nullable(synonyms)),
  typo_tolerance: v.exactOptional(v.nullable(typoTolerance)),
  token_id: v.exactOptional(text),
  type: v.nullable(v.picklist(["r2", "web-crawler"])),
});

const namespace: v.GenericSchema<Namespace> = v.object({
  name: v.string(),
  created_at: v.nullable(instant),
  description: text,
  public_endpoint_id: v.null(),
  public_endpoint_params: v.null(),
});

const warning: v.GenericSchema<ItemWarning> = v.union([
  v.object({
    code: v.literal("custom_metadata_value_not_indexed"),
    field: v.string(),
    expected_type: v.picklist(["text", "number", "boolean", "datetime"]),
  }),
  v.object({ code: v.literal("custom_metadata_field_not_filterable"), field: v.string() }),
  v.object({ code: v.string(), message: v.string(), page: v.exactOptional(v.number()) }),
]);
const item: v.GenericSchema<Item> = v.object({
  id: v.string(),
  key: v.string(),
  checksum: v.string(),
  chunks_count: v.nullable(v.number()),
  created_at: instant,
  last_seen_at: instant,
  file_size: v.number(),
  metadata,
  namespace: v.string(),
  next_action: v.nullable(v.picklist(["INDEX", "DELETE"])),
  source_id: v.string(),
  status: v.picklist(["queued", "running", "completed", "error", "skipped", "outdated"]),
  error: v.exactOptional(v.string()),
  warnings: v.exactOptional(v.array(warning)),
});

const itemOf = v.object({ key: v.string(), timestamp: v.number(), metadata });

/** Page numbers of a PDF or a presentation. */
const pageNumbers = {
  page_number: v.exactOptional(v.number()),
  last_page_number: v.exactOptional(v.number()),
};

const itemChunk: v.GenericSchema<ItemChunk> = v.object({
  id: v.string(),
  text: v.string(),
  start_byte: v.number(),
  end_byte: v.number(),
  ...pageNumbers,
  item: itemOf,
});

const itemLog: v.GenericSchema<ItemLog> = v.object({
  action: v.string(),
  chunkCount: v.nullable(v.number()),
  errorType: text,
  fileKey: v.string(),
  message: text,
  processingTimeMs: v.nullable(v.number()),
  timestamp: instant,
});

const job: v.GenericSchema<SyncJob> = v.object({
  id: v.string(),
  source: v.picklist(["user", "schedule"]),
  description: v.exactOptional(v.string()),
  started_at: instant,
  last_seen_at: instant,
  ended_at: v.exactOptional(instant),
  end_reason: v.exactOptional(v.string()),
  progress: v.object({
    indexed: v.number(),
    failed: v.number(),
    unchanged: v.number(),
    deleted: v.number(),
    total: v.nullable(v.number()),
  }),
});

const token: v.GenericSchema<SearchToken> = v.object({
  id: v.string(),
  name: v.string(),
  cf_api_id: v.string(),
  legacy: v.boolean(),
  enabled: v.literal(true),
  created_at: instant,
  modified_at: instant,
});

const jobLog: v.GenericSchema<JobLog> = v.object({
  id: v.number(),
  created_at: v.number(),
  message: v.string(),
  message_type: v.picklist([0, 1]),
});

const chunk: v.GenericSchema<Chunk> = v.object({
  id: v.string(),
  type: v.literal("text"),
  score: v.number(),
  text: v.string(),
  heading: v.exactOptional(v.string()),
  ...pageNumbers,
  item: itemOf,
  scoring_details: v.object({
    vector_score: v.number(),
    keyword_score: v.exactOptional(v.number()),
    vector_rank: v.exactOptional(v.number()),
    keyword_rank: v.exactOptional(v.number()),
    fusion_method: v.exactOptional(v.picklist(["rrf", "max", "weighted"])),
    reranking_score: v.exactOptional(v.number()),
    coverage: v.exactOptional(v.number()),
  }),
  instance_id: v.exactOptional(v.string()),
  formatted: v.exactOptional(v.record(v.string(), v.string())),
  matches_position: v.exactOptional(
    v.record(v.string(), v.array(v.object({ start: v.number(), length: v.number() }))),
  ),
});

const failure: v.GenericSchema<InstanceFailure> = v.object({
  instance_id: v.string(),
  message: v.string(),
});

const facets = {
  facet_distribution: v.exactOptional(v.record(v.string(), v.record(v.string(), v.number()))),
  facet_stats: v.exactOptional(
    v.record(v.string(), v.object({ min: v.number(), max: v.number() })),
  ),
} satisfies Record<
  keyof Facets,
  v.GenericSchema | v.ExactOptionalSchema<v.GenericSchema, undefined>
>;
const found = {
  ...facets,
  search_query: v.string(),
  query_kind: v.string(),
  chunks: v.array(chunk),
};

const completion: v.GenericSchema<ChatCompletion> = v.object({
  id: v.string(),
  object: v.literal("chat.completion"),
  created: v.number(),
  model: v.string(),
  choices: v.array(
    v.object({
      index: v.number(),
      message: v.object({
        role: v.literal("assistant"),
        content: v.string(),
        refusal: text,
        tool_calls: v.exactOptional(v.array(v.record(v.string(), v.unknown()))),
      }),
      logprobs: v.null(),
      finish_reason: v.string(),
    }),
  ),
  usage: v.objectWithRest(
    { prompt_tokens: v.number(), completion_tokens: v.number(), total_tokens: v.number() },
    v.unknown(),
  ),
  chunks: v.array(chunk),
  errors: v.exactOptional(v.array(failure)),
});

const count = v.number();

/** Answers of search, by their names in the document. */
export const searchAnswers: Readonly<
  Record<
    | "SearchInstance"
    | "SearchInstanceStats"
    | "SearchNamespace"
    | "SearchItem"
    | "SearchItemChunk"
    | "SearchItemLog"
    | "SearchJob"
    | "SearchJobLog"
    | "SearchResult"
    | "SearchTokenShown"
    | "SearchAcrossResult"
    | "SearchCompletion",
    v.GenericSchema
  >
> = {
  SearchInstance: instance,
  SearchInstanceStats: v.object({
    queued: count,
    running: count,
    completed: count,
    error: count,
    skipped: count,
    outdated: count,
    last_activity: v.exactOptional(instant),
    degraded: v.boolean(),
    file_embed_errors: v.record(v.string(), count),
    index_source_errors: v.record(v.string(), count),
    engine: v.object({
      vectorize: v.object({ dimensions: count, vectorsCount: count }),
      r2: v.object({ metadataSizeBytes: count, objectCount: count, payloadSizeBytes: count }),
    }),
  }),
  SearchNamespace: namespace,
  SearchItem: item,
  SearchItemChunk: itemChunk,
  SearchItemLog: itemLog,
  SearchJob: job,
  SearchJobLog: jobLog,
  SearchResult: v.object(found),
  SearchTokenShown: token,
  SearchAcrossResult: v.object({ ...found, errors: v.array(failure) }),
  SearchCompletion: completion,
};
