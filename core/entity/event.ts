import { clamp, LAST_INSTANT } from "../http/fields/bounded-number.ts";
/** The stored event record: nine text fields, six of them nullable. */
export type EventRecord = {
  readonly id: string;
  readonly type: string;
  readonly action: string | null;
  readonly title: string;
  readonly description: string | null;
  readonly url: string | null;
  /** The person or program that caused the event, e.g. a login name. */
  readonly actor: string | null;
  /** Serialised JSON. */
  readonly payload: string | null;
  /** Time of receipt: ISO 8601, UTC, always with milliseconds, so that text order is time order. */
  readonly timestamp: string;
};

/** The columns of {@link EventRecord}, in the order of its fields. */
export const EVENT_COLUMNS = [
  "id",
  "type",
  "action",
  "title",
  "description",
  "url",
  "actor",
  "payload",
  "timestamp",
] as const;

/** Bounds of the stored events of an entity. Events that still wait for their handler are exempt. */
export type Retention = {
  /** Newest events kept per entity; null keeps any number. */
  readonly maxEvents: number | null;
  /** Age in ms; null keeps events for ever. */
  readonly maxAgeMs: number | null;
};

/** An event that a webhook source hands to an agent: the argument of its `ingest` method. */
export type IncomingEvent = {
  readonly record: EventRecord;
  /** Name of the source; ids are unique per provider and entity. */
  readonly provider: string;
  /** A subset of the request's headers as a JSON object; never signatures or credentials. */
  readonly headers: string;
  /** SHA-256 of the body in hexadecimal digits; null where bodies are not compared: it costs a sixth of an ingest. */
  readonly bodyHash: string | null;
  /** Refuse a second event with the same body younger than this many ms; 0 = only ids count. */
  readonly bodyWindowMs: number;
  /** The identifier in the payload before it became a name; null when the name came from the path. */
  readonly canonical: string | null;
  /** Sources whose entities the event may go to, its own first: that one becomes the owner of an unowned entity. */
  readonly owners: readonly string[];
  /**
   * `free`: the event may take an unowned name; `reserved`: it takes the name from any other owner; `existing`: only if
   * one of its `owners` has the name already.
   */
  readonly claim: "free" | "reserved" | "existing";
  /** `queued` leaves the handler to the queue; `processed` means that the caller will ask for it. */
  readonly respond: "processed" | "queued";
  readonly retention: Retention;
  /** The `traceparent` of the request that brought it. @default no tracing */
  readonly trace?: string | undefined;
};

/** The result of `ingest`, after the commit. */
export type IngestReceipt = {
  /**
   * `collision`: the name belongs to another canonical identifier; `foreign`: it belongs to another source.
   * In both cases nothing was stored.
   */
  readonly outcome: "stored" | "duplicate" | "collision" | "foreign";
  /** The source that owns the entity; null for a class without owners. */
  readonly owner: string | null;
  /** Position of the event among its entity's events; 0 when nothing was stored. */
  readonly seq: number;
  /** The queued job that will run the handler; of a duplicate the one that has still to run. Null without either. */
  readonly job: string | null;
  /** The answer that the first delivery of a duplicate got from its handler. @default none */
  readonly answer?: EventAnswer | null;
  /** Whether another process than that of the instance has stored the event, so that its handler cannot be awaited. @default false */
  readonly isDetached?: boolean;
};

/** A handler's answer to the sender of an event: also what is stored of it, for the event's duplicates. */
export type EventAnswer = {
  readonly status: number;
  /** The `content-type`; null without a body that has one. */
  readonly type: string | null;
  readonly body: string;
};

/**
 * The result of `process`: whether the handler has succeeded, or its answer. `dropped` says why an answer was not taken
 * although the handler succeeded.
 */
export type ProcessResult = boolean | EventAnswer | { readonly dropped: string };

/** Name of the queued job of an inbound event. */
export const EVENT_JOB = "processWebhook";

/** Fixed-width UTC form of a time, from 1970 to 9999 at most: text order equals time order. */
export function eventTime(ms: number): string {
  return new Date(clamp(ms, 0, LAST_INSTANT)).toISOString();
}
