import { type NowOrLater, whenReady } from "../../now-or-later.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { EVENT_JOB, type IncomingEvent, type IngestReceipt } from "../../entity/event.ts";
import { guardedName } from "../../entity/name.ts";
import { ApiError } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import type { Platform, System } from "../../ports.ts";
import type { Entity } from "./entity-of.ts";
import type { Delivery } from "./delivery.ts";
import type { Payload } from "../signing/pick.ts";
import { keptHeaders, toRecord } from "./record.ts";
import type { WebhookSource } from "./source.ts";
import { TIMER_OVER } from "../../timer-over.ts";

/** Senders expect an answer within seconds; a handler that needs longer goes on behind a 202. */
const PROCESS_LIMIT_MS = 5000;

/** The event of a payload, ready to be stored; a promise only where something has to be hashed. */
export function toEvent(
  { source, request, trace }: Delivery,
  entity: Entity,
  payload: Payload,
  now: number,
  system: System,
): NowOrLater<IncomingEvent> {
  const fresh = { id: () => system.id(), now };
  const record = toRecord(source.reader, request.headers, payload, fresh);
  const event = {
    provider: source.name,
    headers: keptHeaders(source.reader, request.headers),
    bodyHash: null,
    bodyWindowMs: source.bodyWindowMs,
    canonical: entity.canonical,
    owners: source.ownership.owners,
    reserved: source.ownership.reservation(entity.name) === "own",
    respond: source.respond,
    retention: source.retention,
    trace,
  };
  if (source.bodyWindowMs > 0) return hashed(event, record, payload);
  return whenReady(record, (ready) => ({ ...event, record: ready }));
}

async function hashed(
  event: Omit<IncomingEvent, "record">,
  record: NowOrLater<IncomingEvent["record"]>,
  payload: Payload,
): Promise<IncomingEvent> {
  return { ...event, record: await record, bodyHash: await sha256Hex(payload.text) };
}

/** What became of an event. */
export interface StoredEvent {
  readonly id: string;
  /** The entity that got it: with a guarded name where another identifier owns the usual one. */
  readonly entity: string;
  readonly status: "duplicate" | "stored";
  /** The queued job of its handler; null when there is none to run. */
  readonly job: string | null;
}

/**
 * Stores an event with its entity; resolves after the commit. Throws 409 when the entity belongs to another source, or
 * both of its names to another identifier.
 */
export async function storeEvent(
  { note, source }: Delivery,
  name: string,
  event: IncomingEvent,
  platform: Platform,
): Promise<StoredEvent> {
  if (source.ownership.reservation(name) === "other") throw foreign(source, name, null, platform);
  let entity = name;
  let receipt = await ingest(platform, source, entity, event);
  if (receipt.outcome === "collision" && event.canonical !== null) {
    entity = await guardedName(event.canonical);
    receipt = await ingest(platform, source, entity, event);
  }
  const { outcome, job } = receipt;
  if (outcome === "foreign") throw foreign(source, entity, receipt.owner, platform);
  if (outcome === "collision")
    throw new ApiError("conflict", { message: "The entity name is taken" });
  note(outcome === "duplicate" ? "duplicates" : "stored");
  return { id: event.record.id, entity, status: outcome, job };
}

/** The log names the owner; the sender, who may be anybody with a secret, learns only that it is not the one. */
function foreign(
  source: WebhookSource,
  entity: string,
  owner: string | null,
  platform: Platform,
): ApiError {
  const fields = { source: source.name, entity, owner: owner ?? "given by the configuration" };
  platform.log("warn", "A webhook was refused: its entity belongs to another source", fields);
  return new ApiError("conflict", {
    message: `The entity "${entity}" belongs to another source: sources that share entities need the same "group"`,
  });
}

async function ingest(
  platform: Platform,
  source: WebhookSource,
  name: string,
  event: IncomingEvent,
): Promise<IngestReceipt> {
  return (await platform.actors.get(source.agentKind, name).call("ingest", event)) as IngestReceipt;
}

/** How an event stands when its sender is answered. */
export type Outcome = "duplicate" | "processed" | "queued";

/** Waits for the handler of a stored event where the source asks for that, for five seconds at most. */
export async function outcomeOf(
  { entity, job, status }: StoredEvent,
  source: WebhookSource,
  platform: Platform,
): Promise<Outcome> {
  if (status === "duplicate") return "duplicate";
  if (source.respond === "queued") return "queued";
  if (job === null) return "processed";
  return (await isProcessed(platform, source, entity, job)) ? "processed" : "queued";
}

/** The answer to a request of one event: 202 while its handler has still to run. */
export function answerOne(
  source: WebhookSource,
  { entity, id }: StoredEvent,
  status: Outcome,
): Response {
  const { agentClass: agent, name } = source;
  const result = { id, entity, agent, status };
  const made = { kind: "event", source: name, agent, entity, id } as const;
  return status === "queued"
    ? envelope({ ...result, job: EVENT_JOB }, { status: 202, made })
    : envelope(result, { made });
}

async function isProcessed(
  platform: Platform,
  source: WebhookSource,
  entity: string,
  job: string,
): Promise<boolean> {
  const { system, actors } = platform;
  const done = new AbortController();
  const work = actors
    .get(source.agentKind, entity)
    .call("process", job)
    .catch(() => false);
  // On Workers, what a request has begun ends with its answer unless somebody holds on to it.
  system.waitUntil(work);
  const limit = system.sleep(PROCESS_LIMIT_MS, done.signal).catch(() => false);
  const result = await Promise.race([work, limit]);
  done.abort(TIMER_OVER);
  return result === true;
}
