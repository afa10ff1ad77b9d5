import * as v from "valibot";
import { LARGEST_COUNT, whole } from "../../../http/fields/bounded-number.ts";
import { expecting } from "../../../http/fields/misfit.ts";
import { ignores } from "../../../http/fields/schema-fields.ts";
import { type Dlp, dlp, type Guardrails, guardrails } from "./safety-settings.ts";
import { type SpendLimits, spendLimits } from "./spend-settings.ts";
import { type OtelEndpoint, type OtelWrite, otelWrite } from "./otel-settings.ts";
import { isSecretHeader } from "../../wire/header-hygiene.ts";
import { HEADER_NAME } from "../../../http/fields/header-schema.ts";
import { credentialHeaders } from "../../providers/known/table.ts";

/** Without these a client would get what it cannot read, or did not ask for. */
const framing = /^(?:accept-encoding|content-.*|range|if-.*)$/;

function isIgnorable(name: string): boolean {
  return !framing.test(name) && !credentialHeaders.has(name) && !isSecretHeader(name);
}

/** Checks the setting `cache_ignore_headers`; names are kept in lower case. */
const ignoredHeaders: v.GenericSchema<unknown, string[]> = v.pipe(
  v.array(
    v.pipe(
      v.string(),
      v.regex(HEADER_NAME, "expected the name of a header"),
      v.toLowerCase(),
      v.check(
        isIgnorable,
        ({ input }) =>
          `"${input}" must stay in the cache key: it may hold a credential, or says what the body is`,
      ),
    ),
  ),
  v.maxLength(50, "at most 50 headers are allowed"),
);

const nullableCount = v.nullish(whole(0, LARGEST_COUNT));

/** Every request reads the settings: what has no effect must not weigh. */
const shortText = v.pipe(v.string(), v.maxLength(4096));

/** Stands for a credential that nothing here would use: it is not kept. */
const MASK = "********";

const stripe = v.object({
  authorization: v.pipe(
    shortText,
    v.transform(() => MASK),
  ),
  usage_events: v.pipe(
    v.array(v.object({ payload: shortText })),
    v.maxLength(10, "at most 10 usage events are allowed"),
  ),
});

/** Optional settings that belong to hosted services: kept for the client, without effect (docs/compatibility.md). */
const keptOnly = {
  stripe: v.nullish(stripe),
  logpush: v.nullish(v.boolean()),
  logpush_public_key: v.nullish(shortText),
  log_classification: v.nullish(v.boolean()),
  store_id: v.nullish(shortText),
  byok_only: v.nullish(v.boolean()),
  workers_ai_billing_mode: v.nullish(v.picklist(["postpaid", "unified"])),
  zdr: v.nullish(v.boolean()),
};

/** Settings of a gateway as stored; clients see them by `settingsView`. */
export type GatewaySettings = KeptSettings &
  Protections & {
    id: string;
    authentication: boolean;
    /** Whether provider keys of the operator's serve requests that no token opened the gateway for. Absent = not. */
    stored_keys_for_anonymous?: boolean;
    cache_invalidate_on_update: boolean;
    cache_ttl: number | null;
    /** Names of request headers that are no part of the cache key. */
    cache_ignore_headers?: string[] | null | undefined;
    /** Whether callers whom the operator's provider keys serve share kept answers. Absent = not. */
    share_answers?: boolean;
    collect_logs: boolean;
    rate_limiting_interval: number | null;
    rate_limiting_limit: number | null;
    rate_limiting_technique: "fixed" | "sliding" | null;
    retry_backoff: "constant" | "linear" | "exponential" | null;
    retry_delay: number | null;
    retry_max_attempts: number | null;
    /** Whether streams of OpenAI's format are asked for their usage. @default true */
    stream_usage?: boolean;
    log_management: number | null;
    log_management_strategy: "STOP_INSERTING" | "DELETE_OLDEST" | null;
    is_default: boolean;
    created_at: string;
    modified_at: string;
    /** Since when the cache holds what it holds: answers of before are out of reach. Absent = since the beginning. */
    cache_since?: string;
    /** Names the prices of the management API as of their last change. Absent = there are none. */
    prices_version?: string;
  };

/** Settings of hosted services; shown as they were written. */
type KeptSettings = {
  stripe?: { authorization: string; usage_events: { payload: string }[] } | null | undefined;
  logpush?: boolean | null | undefined;
  logpush_public_key?: string | null | undefined;
  log_classification?: boolean | null | undefined;
  store_id?: string | null | undefined;
  byok_only?: boolean | null | undefined;
  workers_ai_billing_mode?: string | null | undefined;
  zdr?: boolean | null | undefined;
};

/** Checks, limits and traces; absent = none. */
type Protections = {
  guardrails?: Guardrails | null | undefined;
  dlp?: Dlp | null | undefined;
  spend_limits?: SpendLimits | null | undefined;
  otel?: OtelEndpoint[] | null | undefined;
};

/** Changes of stored settings; `undefined` leaves one as it is. */
export type GatewayChanges = {
  [
    K in keyof Omit<
      GatewaySettings,
      "id" | "is_default" | "created_at" | "modified_at" | "cache_since" | "prices_version"
    >
  ]?: GatewaySettings[K] | undefined;
};

/** Settings as a client writes them: `storedChanges` makes them ready to be stored. */
export type GatewayWrite = Omit<GatewayChanges, "otel"> & { otel?: OtelWrite[] | null | undefined };

/** The settings that every change names; {@link initialSettings} has those of a gateway that is created without them. */
const required = {
  cache_invalidate_on_update: v.boolean(),
  cache_ttl: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2_678_400))),
  collect_logs: v.boolean(),
  rate_limiting_interval: v.nullable(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2_678_400)),
  ),
  rate_limiting_limit: v.nullable(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000)),
  ),
};

const writeEntries = {
  ...required,
  cache_ignore_headers: v.nullish(ignoredHeaders),
  share_answers: v.optional(v.boolean()),
  rate_limiting_technique: v.nullish(v.picklist(["fixed", "sliding"])),
  authentication: v.optional(v.boolean()),
  stream_usage: v.optional(v.boolean()),
  stored_keys_for_anonymous: v.optional(v.boolean()),
  retry_backoff: v.nullish(v.picklist(["constant", "linear", "exponential"])),
  retry_delay: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(60_000))),
  retry_max_attempts: v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5))),
  log_management: nullableCount,
  log_management_strategy: v.nullish(v.picklist(["STOP_INSERTING", "DELETE_OLDEST"])),
  ...keptOnly,
  guardrails: v.nullish(guardrails),
  dlp: v.nullish(dlp),
  otel: v.nullish(otelWrite),
  spend_limits: v.nullish(spendLimits),
};

type RateLimit = Pick<GatewayChanges, "rate_limiting_limit" | "rate_limiting_interval">;

/** Refuses half of a rate limit: it would have no effect. Null and 0 switch a limit off. */
const wholeRateLimit = <T extends RateLimit>() =>
  v.check<T, (issue: v.CheckIssue<T>) => string>(
    ({ rate_limiting_limit: limit, rate_limiting_interval: interval }) =>
      (!limit || Boolean(interval)) && (!interval || limit !== undefined),
    ({ input }) =>
      input.rate_limiting_limit
        ? 'Missing field "rate_limiting_interval": the seconds in which so many requests may come, such as 60'
        : 'Missing field "rate_limiting_limit": the requests that may come in the interval, or null for no limit',
  );

const { authentication: _, otel: __, stored_keys_for_anonymous: ___, ...declarable } = writeEntries;

/** Settings that a declaration can fix, by the names of the management API. */
export type DeclaredSettings = Omit<
  GatewayChanges,
  "authentication" | "otel" | "stored_keys_for_anonymous"
>;

/** Checks {@link DeclaredSettings}. */
export const gatewayDeclared: v.GenericSchema<unknown, DeclaredSettings> = v.pipe(
  v.partial(v.strictObject(declarable)),
  wholeRateLimit(),
);

export function agrees(settings: GatewaySettings, declared: DeclaredSettings): boolean {
  const text = (value: unknown): string => JSON.stringify(value ?? null);
  const stored = new Map<string, unknown>(Object.entries(settings));
  return Object.entries(declared).every(([key, value]) => text(value) === text(stored.get(key)));
}

/** A gateway's id: at most 64 characters that need no escaping in a path. */
const gatewayId = v.pipe(
  v.string(),
  v.check(isGatewayId, expecting('1 to 64 letters, digits, "-", "_" or "."')),
);

/** Whether a text can be a gateway's id; dots alone are steps in a path, so no request could reach it. */
export function isGatewayId(text: string): boolean {
  return /^(?!\.+$)[\w.-]{1,64}$/.test(text);
}

export const gatewayWrite: v.GenericSchema<unknown, GatewayWrite> = v.pipe(
  v.object(writeEntries),
  // Clients change what they have read, and send all of it back.
  ignores("id", "is_default", "created_at", "modified_at"),
  wholeRateLimit(),
);

export const gatewayCreate: v.GenericSchema<unknown, GatewayWrite & { id: string }> = v.pipe(
  v.object({
    id: gatewayId,
    ...writeEntries,
    ...v.partial(v.object(required)).entries,
  }),
  wholeRateLimit(),
);

/** The account's first gateway: made by its first authenticated request (docs/compatibility.md). */
export const DEFAULT_GATEWAY = "default";

/** Rows of a gateway's log that are kept when its settings name no number. */
export const DEFAULT_LOG_ROWS = 100_000;

/** Makes the settings that a gateway starts with: authentication on, logs on, no cache, no rate limit. */
export function initialSettings(id: string, now: number, authentication: boolean): GatewaySettings {
  const at = new Date(now).toISOString();
  return {
    id,
    authentication,
    cache_invalidate_on_update: false,
    cache_ttl: 0,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
    rate_limiting_technique: null,
    retry_backoff: null,
    retry_delay: null,
    retry_max_attempts: null,
    log_management: null,
    log_management_strategy: null,
    is_default: id === DEFAULT_GATEWAY,
    created_at: at,
    modified_at: at,
  };
}

/** Settings after a write; what the write leaves out keeps its value. */
export function withChanges(
  settings: GatewaySettings,
  changes: GatewayChanges,
  now: number,
): GatewaySettings {
  const given = Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== undefined),
  );
  // Names a generation of the cache, so two changes within one millisecond must differ.
  const modified = new Date(Math.max(now, Date.parse(settings.modified_at) + 1)).toISOString();
  const next = {
    ...settings,
    ...given,
    id: settings.id,
    is_default: settings.is_default,
    created_at: settings.created_at,
    modified_at: modified,
  };
  return next.cache_invalidate_on_update ? { ...next, cache_since: modified } : next;
}
