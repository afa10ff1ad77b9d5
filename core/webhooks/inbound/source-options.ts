import type { Secret } from "../signing/keys.ts";
import type { Scheme } from "../signing/scheme.ts";
import type { SchemeName } from "../signing/schemes.ts";

/** The place of the entity's identifier, for the route `/webhooks/{source}`. */
export type EntitySource =
  /** Dotted paths into the verified body; the first with a value counts. `/` becomes `-`, letters become lower case. */
  | { readonly from: "payload"; readonly path: string | readonly string[] }
  /** A header. No body signature covers it: anyone with the secret can name any entity. */
  | { readonly from: "header"; readonly name: string }
  /** Only the path names entities. */
  | { readonly from: "path" };

/** One sender of webhooks, as configured. */
export interface SourceOptions {
  /** A built-in scheme's name, or one made by `defineScheme()`. */
  readonly scheme: SchemeName | Scheme | (string & Record<never, never>);
  /** The shared secret, or the sender's public key if the scheme has one. At least 8 characters. */
  readonly secret?: string;
  /** Several secrets, for a rotation; any that has not expired may match. */
  readonly secrets?: readonly (string | Secret)[];
  /** The text that you entered at a sender such as Meta, which repeats it when it tests your address. */
  readonly verifyToken?: string;
  /** The audience of the sender's tokens, for schemes with tokens. @default the address that was called */
  readonly audience?: string;
  /**
   * Entities with secrets of their own, by name as in the path. Such a secret proves the entity of a request, so causey
   * trusts the path or the header, whatever the body says. The source's secret is not valid for these entities.
   */
  readonly entitySecrets?: Readonly<Record<string, string | Secret | readonly (string | Secret)[]>>;
  /** Reads the signature from this header instead of the scheme's own. */
  readonly header?: string;
  /** The place of the entity's identifier. @default the scheme's field of the body, else the path */
  readonly entity?: EntitySource;
  /**
   * Name of a group of sources that share their entities. @default none: if several sources feed an agent class, the
   * first with events for an entity has the agent of that name, and another source's agent is named `source:entity`
   */
  readonly group?: string;
  /**
   * Names this source's new entities `source:entity` (or `group:entity`) in any case, so that it never takes a plain
   * name. For senders that may name any entity, beside other sources. @default false
   */
  readonly prefixed?: boolean;
  /**
   * Entities whose plain names are reserved for this source, whichever source sends first. Entities in `entitySecrets` are
   * reserved, too. @default []
   */
  readonly entities?: readonly string[];
  /** Former names of this source, whose entities it keeps. @default [] */
  readonly formerNames?: readonly string[];
  /**
   * The entity of events without an identifier, e.g. `"unrouted"`: events of a GitHub App that concern no account, or bodies
   * without the field. @default such events are refused (400)
   */
  readonly fallbackEntity?: string;
  /** The agent class that receives the events. @default "webhook-agent" */
  readonly agent?: string;
  /**
   * `processed`: answer 200 after the handler ran, 202 when it needs longer than `answerSeconds`.
   * `queued`: answer 202 as soon as the event and its job are stored. @default "processed"
   */
  readonly respond?: "processed" | "queued";
  /**
   * Seconds that the sender waits for the handler, 0.1 to 30. A response that `onEvent` returns by then is the answer;
   * a later one is dropped. @default 5
   */
  readonly answerSeconds?: number;
  /** The answer to accepted events whose handler returns no response. @default the API's, 200 or 202 */
  readonly answer?: FixedAnswer;
  /**
   * Forwards the events as outbound webhooks of the account, with the type `source.type`: endpoints choose them by type and
   * filter. With a `filter` here, causey forwards only events whose payload fulfils it. Needs `webhooksManagement()` on the platform.
   * @default false
   */
  readonly forward?: boolean | { readonly filter?: Readonly<Record<string, unknown>> };
  /** Replaces the scheme's tolerance of the signed time, in seconds. */
  readonly toleranceSeconds?: number;
  /** The origin that the sender calls, if the scheme signs the address and a proxy changes it. */
  readonly publicUrl?: string;
  /** Also treat an equal body within this many seconds as a duplicate. @default 0 (off) */
  readonly bodyDedupeSeconds?: number;
}

/** An answer to a sender that is the same for every event, e.g. `{ "type": "text/xml", "body": "<Response/>" }`. */
export interface FixedAnswer {
  /** 200 to 299. @default 200 */
  readonly status?: number;
  /** The `content-type`. @default text/plain, none without a body */
  readonly type?: string;
  /** The text of the answer. @default "" */
  readonly body?: string;
}

/** Retention settings. */
export interface RetentionOptions {
  /** Newest events kept per entity, e.g. 100; null keeps any number. @default null */
  readonly maxEvents?: number | null | undefined;
  /** Days that events are kept; null keeps them for ever. @default 30 */
  readonly maxAgeDays?: number | null | undefined;
  /** Days that settled deliveries of outbound webhooks are kept. @default 30 */
  readonly deliveryDays?: number | null | undefined;
  /** Days that dead deliveries are kept after their last attempt. @default 90 */
  readonly deadDeliveryDays?: number | null | undefined;
}
