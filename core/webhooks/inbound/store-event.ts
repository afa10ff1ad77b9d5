import { type NowOrLater, whenReady } from "../../work/now-or-later.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import type { EventAnswer, IncomingEvent, IngestReceipt } from "../../entity/event.ts";
import { guardedName } from "../../entity/name.ts";
import { conflict } from "../../http/api-error.ts";
import type { Platform, System } from "../../ports.ts";
import type { Entity } from "./entity-of.ts";
import type { Delivery } from "./delivery.ts";
import type { Payload } from "../signing/pick.ts";
import { forwardEvent } from "./forward.ts";
import { keptHeaders, toRecord } from "./record.ts";
import { looksPrefixed, prefixedName } from "./name-space.ts";
import type { WebhookSource } from "./source.ts";

/** The entity and the payload that a delivery holds. */
export interface ReadDelivery {
  readonly entity: Entity;
  readonly payload: Payload;
  readonly now: number;
  readonly system: System;
}

/** The event of a payload, ready to be stored; a promise only if something has to be hashed. */
export function toEvent(
  { source, request, trace }: Delivery,
  { entity, payload, now, system }: ReadDelivery,
): NowOrLater<IncomingEvent> {
  const fresh = { id: () => system.id(), now };
  const record = toRecord(source.reader, request.headers, payload, fresh);
  const event = {
    provider: source.name,
    headers: keptHeaders(source.reader, request.headers),
    bodyHash: null,
    bodyWindowMs: source.bodyWindowMs,
    canonical: entity.canonical,
    owners: source.space.owners,
    claim: "free" as const,
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

export interface StoredEvent {
  readonly id: string;
  /** The entity that got it: with a guarded name where another identifier owns the usual one. */
  readonly entity: string;
  readonly status: "duplicate" | "stored";
  /** The queued job of its handler; null without a handler to run. */
  readonly job: string | null;
  /** The answer that the first delivery of a duplicate got from the handler. */
  readonly answer: EventAnswer | null | undefined;
  /** Whether its instance does not answer, so that nobody waits for the handler. */
  readonly isDetached: boolean | undefined;
}

/**
 * Stores an event with its entity; resolves after the commit. The instance has the entity's name, behind the prefix of its
 * space where the name is another's. Throws 409 when identifiers have one name in every form.
 */
export async function storeEvent(
  { note, source }: Delivery,
  name: string,
  event: IncomingEvent,
  platform: Platform,
): Promise<StoredEvent> {
  let place = await firstPlace(source, name);
  for (;;) {
    const { base, claim } = place;
    const entity = claim === null ? prefixedName(source.space, base) : base;
    const sent = claim === event.claim ? event : claimedAs(event, claim, name);
    const { answer, isDetached, job, outcome } = await ingest(platform, source, entity, sent);
    if (isTaken(outcome)) {
      if (source.forward !== null) await forwardEvent(source.forward, event, entity, platform);
      note(outcome === "duplicate" ? "duplicates" : "stored");
      return { id: event.record.id, entity, status: outcome, job, answer, isDetached };
    }
    if (claim === "existing" || (claim !== null && outcome === "foreign")) {
      place = await behindForeign(source, { base, claim }, platform);
      const isForeign = place.claim === null && base === name && outcome === "foreign";
      if (isForeign) source.prefixedEntities.add(name);
    } else if (base === name) place = { base: await guardedName(event.canonical ?? name), claim };
    else throw conflict("The entity name is taken");
  }
}

function isTaken(outcome: IngestReceipt["outcome"]): outcome is StoredEvent["status"] {
  return outcome === "stored" || outcome === "duplicate";
}

/** An instance to try for an event. */
interface Place {
  /** The entity's name, or its guarded form. */
  readonly base: string;
  /** Null for the instance that has the space's prefix in front. */
  readonly claim: IncomingEvent["claim"] | null;
}

/**
 * The event for an instance whose name is not simply the entity's. It carries the entity's name, even if that came from
 * a path: `a:b:c` may be the entity `b:c` of `a`, or an entity `a:b:c`.
 */
function claimedAs(event: IncomingEvent, claim: Place["claim"], name: string): IncomingEvent {
  if (claim === "reserved") return { ...event, claim };
  return { ...event, claim: claim ?? "free", canonical: event.canonical ?? name };
}

function firstPlace(source: WebhookSource, name: string): NowOrLater<Place> {
  if (source.prefixedEntities.has(name)) return { base: name, claim: null };
  return whenReady(source.takesPlainNames(), (takes) => ({
    base: name,
    claim: plainClaim(source, name, takes),
  }));
}

/** The next place for an event whose plain name belongs to another source. */
async function behindForeign(
  source: WebhookSource,
  { base, claim }: Place,
  platform: Platform,
): Promise<Place> {
  const isOwn = claim === "free" && (await isInherited(source, base, platform));
  return { base, claim: isOwn ? "reserved" : null };
}

/**
 * Whether another source's plain name belongs to this one now: no other source feeds the class any more, e.g. after a
 * renaming, and this one's entity has no instance of its own yet.
 */
async function isInherited(
  { agentKind, isStillAlone, space }: WebhookSource,
  name: string,
  platform: Platform,
): Promise<boolean> {
  if (!space.isAlone || !(await isStillAlone())) return false;
  return (await platform.actors.get(agentKind, prefixedName(space, name)).call("ownerOf")) === null;
}

/** The claim with which an event may go to the instance that is named as its entity alone; null if it may not. */
function plainClaim(
  { space }: WebhookSource,
  name: string,
  takes: boolean,
): IncomingEvent["claim"] | null {
  const reservation = space.reservation(name);
  if (reservation === "other") return null;
  if (space.isPrefixed || looksPrefixed(space, name)) return "existing";
  if (reservation === "own") return "reserved";
  return takes ? "free" : "existing";
}

/**
 * The instance that has a source's events of an entity, or would get the next one. Instances of other spaces have other
 * names, whatever they hold.
 */
export async function instanceOf(
  source: WebhookSource,
  entity: string,
  platform: Platform,
): Promise<string> {
  const claim = plainClaim(source, entity, await source.takesPlainNames());
  if (claim === "reserved") return entity;
  if (claim !== null) {
    const owner = await platform.actors.get(source.agentKind, entity).call("ownerOf");
    const isOwn = typeof owner === "string" && source.space.owners.includes(owner);
    if (isOwn || (owner === null && claim === "free")) return entity;
    if (claim === "free" && (await isInherited(source, entity, platform))) return entity;
  }
  return prefixedName(source.space, entity);
}

async function ingest(
  platform: Platform,
  source: WebhookSource,
  name: string,
  event: IncomingEvent,
): Promise<IngestReceipt> {
  return (await platform.actors.get(source.agentKind, name).call("ingest", event)) as IngestReceipt;
}
