import { spendColumns } from "../../../core/gateway/observe/spend/spend-row.ts";
import * as v from "valibot";
import type { PriceView } from "../../../core/gateway/prices/price-book.ts";
import type { PriceRowSetting } from "../../../core/gateway/prices/price-rows.ts";
import { dlp, guardrails } from "../../../core/gateway/account/settings/safety-settings.ts";
import { spendLimits } from "../../../core/gateway/account/settings/spend-settings.ts";
import { instant } from "./parts.ts";

const text = v.nullable(v.string());
const number = v.nullable(v.number());
const times = { created_at: instant, modified_at: instant };
const optional = <S extends v.GenericSchema>(schema: S) => v.exactOptional(v.nullable(schema));

const gateway = v.object({
  id: v.string(),
  is_default: v.boolean(),
  ...times,
  authentication: v.boolean(),
  stored_keys_for_anonymous: v.exactOptional(v.boolean()),
  cache_invalidate_on_update: v.boolean(),
  cache_ttl: number,
  cache_ignore_headers: optional(v.array(v.string())),
  share_answers: v.exactOptional(v.boolean()),
  collect_logs: v.boolean(),
  rate_limiting_interval: number,
  rate_limiting_limit: number,
  rate_limiting_technique: v.nullable(v.picklist(["fixed", "sliding"])),
  retry_backoff: v.nullable(v.picklist(["constant", "linear", "exponential"])),
  retry_delay: number,
  retry_max_attempts: number,
  stream_usage: v.exactOptional(v.boolean()),
  log_management: number,
  log_management_strategy: v.nullable(v.picklist(["STOP_INSERTING", "DELETE_OLDEST"])),
  guardrails: optional(guardrails),
  dlp: optional(dlp),
  spend_limits: optional(spendLimits),
  // Credentials are masked.
  otel: optional(
    v.array(
      v.object({
        url: v.string(),
        headers: v.record(v.string(), v.string()),
        authorization: v.exactOptional(v.string()),
        content_type: v.literal("json"),
      }),
    ),
  ),
  stripe: optional(
    v.object({
      authorization: v.string(),
      usage_events: v.array(v.object({ payload: v.string() })),
    }),
  ),
  logpush: optional(v.boolean()),
  logpush_public_key: optional(v.string()),
  log_classification: optional(v.boolean()),
  store_id: optional(v.string()),
  byok_only: optional(v.boolean()),
  workers_ai_billing_mode: optional(v.picklist(["postpaid", "unified"])),
  zdr: optional(v.boolean()),
});

const logRow = {
  id: v.string(),
  created_at: instant,
  provider: v.string(),
  model: v.string(),
  path: v.string(),
  status_code: v.exactOptional(v.number()),
  success: v.boolean(),
  cached: v.boolean(),
  duration: v.number(),
  tokens_in: number,
  tokens_out: number,
  cost: v.exactOptional(v.number()),
  custom_cost: v.boolean(),
  step: v.number(),
  event_id: text,
  user_agent: text,
  authentication: v.boolean(),
  caller: text,
  dropped: text,
  note: text,
  dlp_action: text,
  feedback: number,
  score: number,
  metadata: v.exactOptional(v.string()),
  model_type: v.exactOptional(v.string()),
  request_content_type: v.exactOptional(v.string()),
  request_type: v.exactOptional(v.string()),
  response_content_type: v.exactOptional(v.string()),
};

const limitType = v.picklist(["cost", "tokens", "requests"]);

const window = v.nullable(v.union([v.number(), v.picklist(["day", "week", "month"])]));
const keyLimit = {
  limitType,
  limit: v.number(),
  window,
  technique: v.picklist(["fixed", "sliding"]),
  soft: v.exactOptional(v.boolean()),
  models: v.exactOptional(v.array(v.string())),
};
const limitUsage = v.array(
  v.object({
    ...keyLimit,
    used: v.number(),
    remaining: v.number(),
    resets_at: v.nullable(instant),
  }),
);

const team = {
  id: v.string(),
  name: v.string(),
  enabled: v.boolean(),
  limits: v.array(v.object(keyLimit)),
  on_unknown: v.picklist(["refuse", "allow"]),
  declared: v.boolean(),
  keys: v.number(),
  usage: limitUsage,
  ...times,
};

const figures = {
  requests: v.number(),
  errors: v.number(),
  cached: v.number(),
  tokens_in: v.number(),
  tokens_out: v.number(),
  cost: v.number(),
};
const column = v.exactOptional(v.string());
const spend = {
  since: v.string(),
  until: v.string(),
  by: v.array(v.picklist(spendColumns)),
  totals: v.object(figures),
  rows: v.array(
    v.object({
      day: column,
      gateway: column,
      provider: column,
      model: column,
      key: column,
      team: column,
      tag: column,
      ...figures,
    }),
  ),
  complete: v.boolean(),
};

const virtualKey = {
  id: v.string(),
  preview: v.string(),
  name: v.string(),
  owner: text,
  tags: v.array(v.string()),
  enabled: v.boolean(),
  gateways: v.nullable(v.array(v.string())),
  models: v.nullable(v.array(v.string())),
  aliases: v.nullable(v.array(v.string())),
  paths: v.array(v.string()),
  limits: v.array(v.object(keyLimit)),
  team: text,
  declared: v.boolean(),
  on_unknown: v.picklist(["refuse", "allow"]),
  expires_at: v.nullable(instant),
  usage: limitUsage,
  former_secret_until: v.nullable(instant),
  last_used_at: v.nullable(instant),
  ...times,
};

const usd = v.exactOptional(v.number());
const tariff = {
  input: v.number(),
  output: v.number(),
  cached: usd,
  cacheWrite: usd,
  cacheWriteHour: usd,
  reasoning: usd,
  kinds: v.exactOptional(v.record(v.string(), v.object({ input: usd, cached: usd, output: usd }))),
};

const price: v.GenericSchema<PriceView> = v.object({
  provider: v.string(),
  model: v.string(),
  from: v.nullable(instant),
  ...tariff,
  long: v.exactOptional(v.object({ ...tariff, tokens: v.number() })),
  regional: usd,
  origin: v.picklist(["api", "file", "built-in"]),
  source: text,
  checked: text,
  id: v.exactOptional(v.string()),
});

const ownPrice: v.GenericSchema<PriceRowSetting & { readonly id: string }> = v.object({
  id: v.string(),
  provider: v.string(),
  model: v.string(),
  from: v.exactOptional(v.string()),
  input: v.number(),
  output: v.number(),
  cached: usd,
  cacheWrite: usd,
  cacheWriteHour: usd,
  reasoning: usd,
  source: v.exactOptional(v.string()),
});

/** A chat completion of a provider, in OpenAI's format; what it adds of its own passes through. */
const chatCompletion = v.objectWithRest(
  {
    model: v.exactOptional(v.string()),
    choices: v.array(v.record(v.string(), v.unknown())),
  },
  v.unknown(),
);

/** Answers of the gateway, by their names in the document. */
export const gatewayAnswers: Readonly<
  Record<
    | "Gateway"
    | "GatewayUrl"
    | "GatewayLog"
    | "GatewayLogDetail"
    | "Team"
    | "Spend"
    | "StoredVirtualKey"
    | "VirtualKeyWithSecret"
    | "ModelPrice"
    | "StoredPrice"
    | "ChatCompletion",
    v.GenericSchema
  >
> = {
  Gateway: gateway,
  GatewayUrl: v.string(),
  GatewayLog: v.object(logRow),
  GatewayLogDetail: v.object({
    ...logRow,
    request_head: v.string(),
    request_head_complete: v.boolean(),
    request_size: v.number(),
    response_head: v.string(),
    response_head_complete: v.boolean(),
    response_size: v.number(),
  }),
  Team: v.object(team),
  Spend: v.object(spend),
  StoredVirtualKey: v.object(virtualKey),
  VirtualKeyWithSecret: v.object({ ...virtualKey, key: v.string() }),
  ModelPrice: price,
  StoredPrice: ownPrice,
  ChatCompletion: chatCompletion,
};
