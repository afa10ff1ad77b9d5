import * as v from "valibot";
import type { EventRecord } from "../../../core/entity/event.ts";
import { eventCounts, type SourceCounts } from "../../../core/entity/event-counts.ts";
import type { EndpointView } from "../../../core/webhooks/outbound/endpoints.ts";
import type { SendResult } from "../../../core/webhooks/outbound/deliveries.ts";
import { counterNames } from "../../../core/webhooks/outbound/counters.ts";
import { instant, note } from "./parts.ts";

const text = v.nullable(v.string());

const endpoint = {
  id: v.string(),
  url: v.string(),
  description: text,
  types: v.array(v.string()),
  format: v.string(),
  ordered: v.boolean(),
  concurrency: v.number(),
  rate_per_second: v.nullable(v.number()),
  public_key: text,
  enabled: v.boolean(),
  disabled_reason: text,
  tripped_until: v.nullable(instant),
  created_at: instant,
};
const shownEndpoint: v.GenericSchema<EndpointView> = v.object(endpoint);

const sent: v.GenericSchema<SendResult> = v.object({
  id: v.string(),
  duplicate: v.boolean(),
  deliveries: v.number(),
});

const delivery = {
  id: v.string(),
  message_id: v.string(),
  endpoint_id: v.string(),
  entity: text,
  status: v.picklist(["pending", "delivered", "dead", "canceled", "replayed"]),
  attempts: v.number(),
  // Milliseconds of the server's steady clock.
  due: v.number(),
  last_status: v.nullable(v.number()),
  last_error: text,
  created_at: instant,
  finished_at: v.nullable(instant),
};

const attempt = v.object({
  attempt: v.number(),
  at: instant,
  duration_ms: v.nullable(v.number()),
  status: v.nullable(v.number()),
  error: text,
  headers: v.nullable(v.record(v.string(), v.string())),
  body: text,
});

const event: v.GenericSchema<EventRecord & { readonly seq: number; readonly source: string }> =
  v.object({
    id: v.string(),
    type: v.string(),
    action: text,
    title: v.string(),
    description: text,
    url: text,
    actor: text,
    payload: text,
    timestamp: instant,
    // The event's place among those of its entity, and its sender.
    seq: v.number(),
    source: v.string(),
  });

const counts = <N extends string>(
  names: readonly N[],
): v.ObjectSchema<Record<N, v.NumberSchema<undefined>>, undefined> =>
  // `as`: `fromEntries` forgets the names.
  v.object(
    Object.fromEntries(names.map((name) => [name, v.number()])) as Record<
      N,
      v.NumberSchema<undefined>
    >,
  );

const sourceCounts: v.GenericSchema<SourceCounts> = v.object({
  ...counts(eventCounts).entries,
  refused: v.record(v.string(), v.number()),
});

const failure = v.object({
  agent: v.string(),
  entity: v.string(),
  id: v.string(),
  task: v.string(),
  seq: v.nullable(v.number()),
  event: text,
  source: text,
  attempts: v.number(),
  error: v.string(),
  failed_at: instant,
  next_at: v.nullable(instant),
});

/** A dead letter as its entity's agent holds it: with the payload. */
const deadLetter = v.object({
  id: v.string(),
  task: v.string(),
  payload: text,
  event_seq: v.nullable(v.number()),
  attempts: v.number(),
  error: v.string(),
  failed_at: instant,
});

const replay = v.object({
  id: v.string(),
  status: v.picklist(["running", "completed", "canceled"]),
  of: v.picklist(["events", "dead-letters"]),
  agent: v.exactOptional(v.string()),
  entity: v.exactOptional(v.string()),
  source: v.exactOptional(v.string()),
  type: v.exactOptional(v.string()),
  since: v.exactOptional(instant),
  until: v.exactOptional(instant),
  entities: v.number(),
  done: v.number(),
  failed: v.number(),
  queued: v.number(),
  created_at: instant,
  finished_at: v.nullable(instant),
});

const receivedEvent = {
  id: v.string(),
  entity: v.string(),
  status: v.picklist(["duplicate", "processed", "queued"]),
};

const inEnvelope = (result: v.GenericSchema): v.GenericSchema =>
  v.object({ success: v.literal(true), result, errors: v.tuple([]), messages: v.array(note) });

/** The answer to a sender: for one event, for a list of them, or for a test of the address. */
const received = v.union([
  inEnvelope(v.object({ ...receivedEvent, agent: v.string(), job: v.exactOptional(v.string()) })),
  inEnvelope(
    v.object({
      agent: v.string(),
      events: v.array(v.object(receivedEvent)),
      status: v.picklist(["processed", "queued"]),
      job: v.exactOptional(v.string()),
    }),
  ),
  v.object({ challenge: v.string() }),
  v.object({ plainToken: v.string(), encryptedToken: v.string() }),
  v.object({ type: v.literal(1) }),
]);

/** Answers of webhooks and of their agents, by their names in the document. */
export const webhookAnswers: Readonly<
  Record<
    | "WebhookSource"
    | "WebhookEntity"
    | "AgentState"
    | "WebhookEvent"
    | "QueuedJob"
    | "WebhookFailure"
    | "DeadLetter"
    | "EntityReplayState"
    | "WebhookStats"
    | "WebhookEndpoint"
    | "WebhookEndpointWithSecret"
    | "WebhookSent"
    | "WebhookDelivery"
    | "WebhookDeliveryDetail"
    | "DeliveriesReplayed"
    | "WebhookReceived",
    v.GenericSchema
  >
> = {
  WebhookSource: v.object({
    name: v.string(),
    agent: v.string(),
    entity: v.unknown(),
    respond: v.picklist(["processed", "queued"]),
  }),
  WebhookEntity: v.object({
    agent: v.string(),
    entity: v.string(),
    source: text,
    last_seen: instant,
  }),
  AgentState: v.object({
    state: v.unknown(),
    schedules: v.array(
      v.object({
        id: v.string(),
        task: v.string(),
        payload: v.unknown(),
        due: v.number(),
        kind: v.picklist(["once", "interval", "cron"]),
      }),
    ),
  }),
  WebhookEvent: event,
  QueuedJob: v.object({ job: v.string() }),
  WebhookFailure: failure,
  DeadLetter: v.union([failure, deadLetter]),
  EntityReplayState: replay,
  WebhookStats: v.object({
    counters: counts(counterNames),
    pending: v.number(),
    oldest_pending_seconds: v.nullable(v.number()),
    dead: v.number(),
    endpoints: v.object({ total: v.number(), enabled: v.number(), tripped: v.number() }),
    inbound: v.exactOptional(v.record(v.string(), sourceCounts)),
  }),
  WebhookEndpoint: shownEndpoint,
  WebhookEndpointWithSecret: v.object({ ...endpoint, secret: v.exactOptional(v.string()) }),
  WebhookSent: sent,
  WebhookDelivery: v.object(delivery),
  WebhookDeliveryDetail: v.object({ ...delivery, log: v.array(attempt) }),
  DeliveriesReplayed: v.object({ replayed: v.number(), more: v.boolean() }),
  WebhookReceived: received,
};
