import { notArray } from "../../http/fields/schema-fields.ts";
import { invalidUrl } from "../../net/check-url.ts";
import * as v from "valibot";
import type { Plain } from "../../ports.ts";
import { hopByHop } from "../../http/hop-by-hop.ts";
import { HEADER_NAME, headerCredential } from "../../http/fields/header-schema.ts";
import { filterProblem } from "../../http/json/payload-filter.ts";
import { CONCURRENCY_DEFAULT } from "./endpoint-queues.ts";
import { agentTarget } from "./agent-target.ts";
import { TIMEOUT_DEFAULT_S } from "./attempt.ts";

/** The tables of the outbound side, keyed by account. */
export const outboundSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_endpoints (
    actor TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, description TEXT, types TEXT NOT NULL,
    format TEXT NOT NULL, secrets TEXT NOT NULL, enabled INTEGER NOT NULL, disabled_reason TEXT,
    failing_since BIGINT, failures INTEGER NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (actor, id))`,
  `CREATE TABLE IF NOT EXISTS webhooks_messages (
    actor TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL,
    idempotency_key TEXT, created_at TEXT NOT NULL, PRIMARY KEY (actor, id))`,
  "CREATE UNIQUE INDEX IF NOT EXISTS webhooks_messages_key ON webhooks_messages (actor, idempotency_key)",
  "CREATE INDEX IF NOT EXISTS webhooks_messages_time ON webhooks_messages (actor, created_at)",
  `CREATE TABLE IF NOT EXISTS webhooks_deliveries (
    actor TEXT NOT NULL, id TEXT NOT NULL, message_id TEXT NOT NULL, endpoint_id TEXT NOT NULL,
    status TEXT NOT NULL, attempt INTEGER NOT NULL, due BIGINT NOT NULL, last_status INTEGER,
    last_error TEXT, created_at TEXT NOT NULL, finished_at TEXT, PRIMARY KEY (actor, id))`,
  "CREATE INDEX IF NOT EXISTS webhooks_deliveries_due ON webhooks_deliveries (actor, status, due)",
  "CREATE INDEX IF NOT EXISTS webhooks_deliveries_message ON webhooks_deliveries (actor, message_id)",
  "CREATE INDEX IF NOT EXISTS webhooks_deliveries_time ON webhooks_deliveries (actor, created_at)",
  `CREATE TABLE IF NOT EXISTS webhooks_attempts (
    actor TEXT NOT NULL, delivery_id TEXT NOT NULL, attempt INTEGER NOT NULL, at TEXT NOT NULL,
    duration_ms INTEGER NOT NULL, status INTEGER, error TEXT, body TEXT,
    PRIMARY KEY (actor, delivery_id, attempt))`,
  "CREATE TABLE IF NOT EXISTS webhooks_keys (actor TEXT PRIMARY KEY, master TEXT NOT NULL)",
  "ALTER TABLE webhooks_endpoints ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE webhooks_endpoints ADD COLUMN tripped_until BIGINT",
  "ALTER TABLE webhooks_endpoints ADD COLUMN public_key TEXT",
  "ALTER TABLE webhooks_messages ADD COLUMN entity TEXT",
  "ALTER TABLE webhooks_deliveries ADD COLUMN entity TEXT",
  "ALTER TABLE webhooks_deliveries ADD COLUMN seq INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE webhooks_attempts ADD COLUMN headers TEXT",
  "CREATE INDEX IF NOT EXISTS webhooks_deliveries_seq ON webhooks_deliveries (actor, seq)",
  `CREATE INDEX IF NOT EXISTS webhooks_deliveries_turn
    ON webhooks_deliveries (actor, endpoint_id, entity, status, seq)`,
  `CREATE TABLE IF NOT EXISTS webhooks_counters (
    actor TEXT NOT NULL, name TEXT NOT NULL, value BIGINT NOT NULL, PRIMARY KEY (actor, name))`,
  "ALTER TABLE webhooks_endpoints ADD COLUMN concurrency INTEGER",
  "ALTER TABLE webhooks_endpoints ADD COLUMN rate DOUBLE PRECISION",
  // Each endpoint's queue is a stretch of this index.
  `CREATE INDEX IF NOT EXISTS webhooks_deliveries_lane
    ON webhooks_deliveries (actor, endpoint_id, status, due, seq)`,
  // The trace of the call to `send`: a delivery may follow days later.
  "ALTER TABLE webhooks_messages ADD COLUMN trace TEXT",
  "ALTER TABLE webhooks_endpoints ADD COLUMN filter TEXT",
  "ALTER TABLE webhooks_endpoints ADD COLUMN headers TEXT",
  "ALTER TABLE webhooks_endpoints ADD COLUMN retry_delays TEXT",
  "ALTER TABLE webhooks_endpoints ADD COLUMN timeout_seconds INTEGER",
  `CREATE TABLE IF NOT EXISTS webhooks_applications (
    actor TEXT NOT NULL, id TEXT NOT NULL, name TEXT, max_endpoints INTEGER NOT NULL, rate DOUBLE PRECISION,
    hidden INTEGER NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (actor, id))`,
  "ALTER TABLE webhooks_messages ADD COLUMN is_notice INTEGER NOT NULL DEFAULT 0",
  `CREATE TABLE IF NOT EXISTS webhooks_topics (
    actor TEXT NOT NULL, type TEXT NOT NULL, endpoint_id TEXT NOT NULL, attempts BIGINT NOT NULL,
    delivered BIGINT NOT NULL, dead BIGINT NOT NULL, latency_ms BIGINT NOT NULL,
    PRIMARY KEY (actor, type, endpoint_id))`,
];

const url = v.pipe(
  v.string(),
  v.maxLength(2048),
  v.check(
    (text) => URL.parse(text) !== null,
    ({ input }) => invalidUrl(input),
  ),
  v.check(isTarget, 'expected an http(s) URL without credentials, or "agent:CLASS/NAME"'),
);
const types = v.pipe(
  v.array(
    v.pipe(
      v.string(),
      v.maxLength(256),
      v.regex(/^[^*]+$|^[^*]+\.\*$/, 'expected an event type, or the beginning of one and ".*"'),
    ),
  ),
  v.maxLength(100),
);
const keyType = v.picklist(["hmac", "ed25519"]);
const secret = v.pipe(
  v.string(),
  v.regex(
    /^wh(?:sec|sk)_(?:[A-Za-z0-9+/]{4}){8,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
    'expected "whsec_" and 24 bytes or more in base64, or "whsk_" and an Ed25519 private key',
  ),
  v.maxLength(128),
);
/** Requests to the endpoint in flight at a time. */
const concurrency = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(200));
/** Requests to the endpoint per second; null = any number. */
const rate = v.nullable(v.pipe(v.number(), v.minValue(0.01), v.maxValue(10_000)));

/** Most characters of a filter: those of all endpoints are read for each message. */
const FILTER_LIMIT = 2048;
/** A condition that the payload fulfils; null = every payload is sent. */
const filter = v.nullable(
  v.pipe(
    v.unknown(),
    v.check(
      (value) => filterProblem(value) === null,
      ({ input }) => filterProblem(input) ?? "expected a condition",
    ),
    v.check(
      (value) => JSON.stringify(value).length <= FILTER_LIMIT,
      `A filter has at most ${FILTER_LIMIT} characters`,
    ),
    v.transform((value) => value as PayloadFilter),
  ),
);
/** Names that a request has from its connection, its body and its signature. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...hopByHop,
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "traceparent",
  "tracestate",
  "user-agent",
  "x-signature",
  "x-webhook-event",
]);
const headers = v.pipe(
  notArray,
  v.record(
    v.pipe(
      v.string(),
      v.regex(HEADER_NAME, "expected a header name"),
      v.toLowerCase(),
      v.check(
        (name) => !ownHeaders.has(name) && !name.startsWith("webhook-"),
        "this header is set by the sender",
      ),
    ),
    headerCredential,
  ),
  v.maxEntries(20),
);
/** Seconds between the attempts; null = the standard schedule, an empty list = one attempt. */
const retryDelays = v.nullable(
  v.pipe(
    v.array(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(86_400))),
    v.maxLength(20),
  ),
);
/** Seconds of an attempt; a claim of a delivery has to last longer. */
const timeout = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(30));

/** A checked filter: a condition over a payload. */
export type PayloadFilter = { readonly [path: string]: Plain };

/** A checked body of `POST …/endpoints`. */
export type EndpointInput = {
  readonly url: string;
  readonly description?: string | undefined;
  readonly types: readonly string[];
  readonly format: "signed" | "chat";
  readonly ordered: boolean;
  readonly concurrency: number;
  readonly rate_per_second: number | null;
  readonly filter: PayloadFilter | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly retry_delays_seconds: readonly number[] | null;
  readonly timeout_seconds: number;
  readonly key_type?: KeyType | undefined;
  readonly secret?: string | undefined;
};

/** The algorithm of a secret: `whsec_…` is HMAC-SHA256, `whsk_…` Ed25519. */
export type KeyType = "hmac" | "ed25519";

/** A checked body of `POST …/endpoints/:id/rotate`. */
export type RotateInput = {
  readonly key_type?: KeyType | undefined;
  readonly secret?: string | undefined;
  readonly grace_seconds: number;
};

/** A checked body of `PATCH …/endpoints/:id`. */
export type EndpointPatch = {
  readonly url?: string | undefined;
  readonly description?: string | undefined;
  readonly types?: readonly string[] | undefined;
  readonly enabled?: boolean | undefined;
  readonly ordered?: boolean | undefined;
  readonly concurrency?: number | undefined;
  readonly rate_per_second?: number | null | undefined;
  readonly filter?: PayloadFilter | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly retry_delays_seconds?: readonly number[] | null | undefined;
  readonly timeout_seconds?: number | undefined;
};

/** Body of `POST …/endpoints`. Unknown fields are refused: a misspelt filter would send every event. */
export const endpointInput: v.GenericSchema<unknown, EndpointInput> = v.strictObject({
  url,
  description: v.optional(v.pipe(v.string(), v.maxLength(256))),
  /** Event types to send; an empty list means all. */
  types: v.optional(types, () => []),
  /** `signed`: the payload with signatures. `chat`: only `{"text": …}`, for chat services. */
  format: v.optional(v.picklist(["signed", "chat"]), "signed"),
  /** Deliveries of one entity go out one after another, in the order of `send`. */
  ordered: v.optional(v.boolean(), false),
  concurrency: v.optional(concurrency, CONCURRENCY_DEFAULT),
  rate_per_second: v.optional(rate, null),
  filter: v.optional(filter, null),
  headers: v.optional(headers, () => ({})),
  retry_delays_seconds: v.optional(retryDelays, null),
  timeout_seconds: v.optional(timeout, TIMEOUT_DEFAULT_S),
  key_type: v.optional(keyType),
  secret: v.optional(secret),
});

/** Body of `POST …/endpoints/:id/rotate`; may be left out. */
export const rotateInput: v.GenericSchema<unknown, RotateInput> = v.object({
  key_type: v.optional(keyType),
  secret: v.optional(secret),
  /** Seconds for which the old secrets also sign; 0 ends them at once. */
  grace_seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(7 * 86_400)),
    86_400,
  ),
});

/** Body of `PATCH …/endpoints/:id`. */
export const endpointPatch: v.GenericSchema<unknown, EndpointPatch> = v.object({
  url: v.optional(url),
  description: v.optional(v.pipe(v.string(), v.maxLength(256))),
  types: v.optional(types),
  enabled: v.optional(v.boolean()),
  ordered: v.optional(v.boolean()),
  concurrency: v.optional(concurrency),
  rate_per_second: v.optional(rate),
  filter: v.optional(filter),
  headers: v.optional(headers),
  retry_delays_seconds: v.optional(retryDelays),
  timeout_seconds: v.optional(timeout),
});

function isTarget(text: string): boolean {
  if (!URL.canParse(text)) return false;
  if (text.startsWith("agent:")) return agentTarget(text) !== null;
  const { protocol, username, password } = new URL(text);
  return (protocol === "https:" || protocol === "http:") && username === "" && password === "";
}
