import { sha256Hex } from "../crypto/digest.ts";
import { EVENT_JOB, type IncomingEvent, type IngestReceipt } from "../entity/event.ts";
import type { Note } from "../entity/event-counts.ts";
import { checkName, guardedName, nameFromId } from "../entity/name.ts";
import { ApiError } from "../http/api-error.ts";
import { envelope } from "../http/envelope.ts";
import type { Plain, Platform } from "../ports.ts";
import { answerHandshake } from "./handshake.ts";
import { textAt } from "./pick.ts";
import { keptHeaders, parsePayload, toRecord } from "./record.ts";
import type { Secrets, WebhookSource } from "./source.ts";
import { verify, type Refusal } from "./verify.ts";

/** Senders expect an answer within seconds; a handler that needs longer goes on behind a 202. */
const PROCESS_LIMIT_MS = 5000;

/** A request on its way through {@link receive}. */
export interface Delivery {
  readonly source: WebhookSource;
  readonly request: Request;
  /** The raw body. */
  readonly body: Uint8Array;
  /** The entity's name in the path; null on the route without one. */
  readonly pathName: string | null;
  /** Is told what has become of it, for the counters. */
  readonly note: Note;
}

const refusals: Record<Refusal, string> = {
  missing: "The signature is missing",
  malformed: "The signature is malformed",
  stale: "The signed timestamp is too far from the time of this server",
  mismatch: "The signature does not match",
};

/**
 * Takes one webhook: signature over the raw bytes, handshake, JSON, entity, one transaction, answer.
 * Nothing of the body is believed before the signature is valid, nothing is answered before the commit.
 */
export async function receive(delivery: Delivery, platform: Platform): Promise<Response> {
  const { source, request, body } = delivery;
  const now = platform.system.now();
  const signed = {
    method: request.method,
    url: publicUrl(source, request.url),
    headers: request.headers,
    body,
  };
  const owner = ownerOf(delivery);
  const secrets = owner?.secrets ?? source.shared;
  const verdict = verify(source.scheme, secrets.keys, signed, now);
  // Awaited only where it is a promise, here and below: this is the way of every event.
  const refusal = verdict instanceof Promise ? await verdict : verdict;
  if (refusal !== null)
    throw new ApiError("signature_invalid", { message: refusals[refusal], cause: refusal });
  delivery.note("verified");

  const payload = parsePayload(body, request.headers);
  if (source.scheme.handshake !== undefined) {
    const handshake = await answerHandshake(source, payload.value, secrets.first);
    if (handshake !== null) {
      delivery.note("handshakes");
      return handshake;
    }
  }

  const found = owner ?? entityOf(delivery, payload.value);
  const entity = found instanceof Promise ? await found : found;
  if (owner === null && source.ofEntity.has(entity.name)) {
    const message =
      "The entity has a secret of its own: sign with it and send to the entity's path";
    throw new ApiError("signature_invalid", { message, cause: "entity_secret" });
  }
  const fresh = { id: () => platform.system.id(), now };
  const read = toRecord(source.reader, request.headers, payload, fresh);
  const record = read instanceof Promise ? await read : read;
  const event: IncomingEvent = {
    record,
    provider: source.name,
    headers: keptHeaders(source.reader, request.headers),
    bodyHash: source.bodyWindowMs > 0 ? await sha256Hex(body) : null,
    bodyWindowMs: source.bodyWindowMs,
    canonical: entity.canonical,
    respond: source.respond,
    retention: source.retention,
  };
  return store(entity.name, event, delivery, platform);
}

/** The address that the sender signed: behind a proxy only its origin differs. */
function publicUrl(source: WebhookSource, url: string): string {
  if (source.publicUrl === undefined) return url;
  return source.publicUrl + url.slice(url.indexOf("/", url.indexOf("://") + 3));
}

interface Entity {
  readonly name: string;
  readonly canonical: string | null;
}

/** The entity that path or header names, if it has secrets of its own: then its signature is what binds it. */
function ownerOf({ source, request, pathName }: Delivery): (Entity & { secrets: Secrets }) | null {
  if (source.ofEntity.size === 0) return null;
  const header = source.entity.from === "header" ? request.headers.get(source.entity.name) : null;
  const name = pathName ?? header;
  const secrets = name === null ? undefined : source.ofEntity.get(name);
  return name === null || secrets === undefined ? null : { name, canonical: null, secrets };
}

function entityOf(
  { source, request, pathName }: Delivery,
  payload: unknown,
): Promise<Entity> | Entity {
  const from = source.entity;
  if (from.from === "path") {
    if (pathName !== null) return { name: pathName, canonical: null };
    const message = `The entity identifier is missing: send to /webhooks/${source.name}/{entity_id}`;
    throw new ApiError("entity_missing", { message });
  }
  if (from.from === "header") {
    const value = pathName ?? request.headers.get(from.name);
    if (value === null)
      throw new ApiError("entity_missing", { message: `The header ${from.name} is missing` });
    return { name: checkName(value), canonical: null };
  }
  const canonical = textAt(payload, from.path) || source.scheme.entityDefault;
  if (canonical === undefined || canonical === "") {
    throw new ApiError("entity_missing", {
      message: `The payload has no ${from.path} that names the entity`,
    });
  }
  const name = nameFromId(canonical);
  if (pathName === null || pathName === name || pathName === canonical) return { name, canonical };
  return boundEntity(pathName, canonical);
}

/** A body signature does not cover the path: without this check, a valid body could be sent to any entity. */
async function boundEntity(pathName: string, canonical: string): Promise<Entity> {
  if (pathName === (await guardedName(canonical))) return { name: pathName, canonical };
  throw new ApiError("entity_missing", {
    message: "The entity identifier in the path is not the one in the payload",
  });
}

async function store(
  name: string,
  event: IncomingEvent,
  { note, source }: Delivery,
  platform: Platform,
): Promise<Response> {
  let entity = name;
  let receipt = await ingest(platform, source, entity, event);
  if (receipt.outcome === "collision" && event.canonical !== null) {
    entity = await guardedName(event.canonical);
    receipt = await ingest(platform, source, entity, event);
  }
  if (receipt.outcome !== "collision")
    note(receipt.outcome === "duplicate" ? "duplicates" : "stored");
  return answer(platform, source, entity, receipt, event.record.id);
}

async function ingest(
  platform: Platform,
  source: WebhookSource,
  name: string,
  event: IncomingEvent,
): Promise<IngestReceipt> {
  return (await platform.actors.get(source.agentKind, name).call("ingest", event)) as IngestReceipt;
}

async function answer(
  platform: Platform,
  source: WebhookSource,
  entity: string,
  receipt: IngestReceipt,
  id: string,
): Promise<Response> {
  if (receipt.outcome === "collision")
    throw new ApiError("conflict", { message: "The entity name is taken" });
  const result: Record<string, Plain> = { id, entity, agent: source.agentClass };
  if (receipt.outcome === "duplicate") return envelope({ ...result, status: "duplicate" });
  const queued = (): Response =>
    envelope({ ...result, status: "queued", job: EVENT_JOB }, { status: 202 });
  if (receipt.job === null) {
    return source.respond === "queued" ? queued() : envelope({ ...result, status: "processed" });
  }
  if (source.respond === "queued") return queued();
  return (await isProcessed(platform, source, entity, receipt.job))
    ? envelope({ ...result, status: "processed" })
    : queued();
}

/** Waits for the handler, but not for ever: the event is stored and will be handled in any case. */
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
  done.abort();
  return result === true;
}
