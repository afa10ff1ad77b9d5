import type { HmacHash } from "../../crypto/hmac.ts";

/**
 * The place of a value in a request: `header:x-name`, `body:dot.path` (of the parsed body), or `pair:t` (of the
 * `t=…,v1=…` list in the signature header).
 */
export type Source = `header:${string}` | `body:${string}` | `pair:${string}`;

/**
 * The source of an event's id: one value, or several that identify it only together (all of them are needed; they are
 * joined by `:`). `digest:payload` stands for the SHA-256 of the event's JSON, for senders whose events carry a time
 * but no id.
 */
export type IdSource = Source | typeof DIGEST | readonly (Source | typeof DIGEST)[];

/** The id source that stands for the SHA-256 of the event's JSON. */
export const DIGEST = "digest:payload";

/** The signature algorithm. `token` compares the header with the secret itself. */
export type Algorithm = `hmac-${Lowercase<HmacHash>}` | "ed25519" | "ecdsa-p256" | "token";

/**
 * How signatures are written in their header.
 * `single`: one value behind a fixed prefix. `pairs`: `key=value` items, those named `key` are signatures.
 * `versions`: `v1,<base64>` items separated by spaces (Standard Webhooks).
 */
export type SignatureFormat =
  | { readonly kind: "single"; readonly prefix?: string }
  | { readonly kind: "pairs"; readonly separator: "," | ";"; readonly key: string }
  | { readonly kind: "versions" };

/** The signed time of a request. */
export interface TimestampRule {
  readonly source: Source;
  readonly unit: "s" | "ms";
  /** Seconds of difference allowed, in the past and in the future, bound included; null = any. */
  readonly toleranceSeconds: number | null;
}

/** The sources of the event record's fields; the first source with a value wins. */
export interface EventFields {
  readonly id?: readonly IdSource[];
  readonly type?: readonly Source[];
  readonly action?: readonly Source[];
  readonly title?: readonly Source[];
  readonly description?: readonly Source[];
  readonly url?: readonly Source[];
  readonly actor?: readonly Source[];
}

/** A request that a provider sends to test the receiver, and the answer that it expects. */
export type Handshake =
  /** `{"type":"url_verification","challenge":…}` is answered with the challenge. */
  | "slack-challenge"
  /** `{"event":"endpoint.url_validation"}` is answered with an HMAC of the plain token. */
  | "zoom-validation"
  /** `{"type":1}` is answered with `{"type":1}`. */
  | "discord-ping"
  /** `GET ?challenge=` is echoed as plain text, before any signature exists. */
  | "get-challenge";

/** One provider's signature scheme, as data. */
export interface Scheme {
  readonly algorithm: Algorithm;
  readonly encoding: "hex" | "base64";
  /** The first of these that a request has is the signature. */
  readonly signature: readonly Source[];
  readonly format: SignatureFormat;
  /**
   * The template of the signed text: `{body}` (raw bytes), `{timestamp}`, `{id}`, `{method}`, `{url}`, `{decodedUrl}`,
   * `{form}` (sorted form parameters, Twilio) and `{body:dot.path}`.
   */
  readonly content: string;
  readonly timestamp?: TimestampRule;
  /** The id that `{id}` stands for. */
  readonly signedId?: Source;
  /** `text`: the secret's UTF-8 bytes. `whsec`: base64 behind an optional `whsec_`, or a `whpk_` public key. */
  readonly secretForm: "text" | "whsec" | "hex" | "spki";
  /** Shortest secret that is accepted, in characters. @default 8 */
  readonly minSecretLength?: number;
  readonly handshake?: Handshake;
  readonly fields?: EventFields;
  /** Names of further headers that are stored with an event, in lower case; never credentials. */
  readonly keptHeaders?: readonly string[];
  /**
   * The path of the entity's identifier in the body: the first of several that has one. Without it, only the request's
   * path names entities.
   */
  readonly entity?: string | readonly string[];
  /** The identifier of bodies without one, e.g. Stripe events of the operator's own account. */
  readonly entityDefault?: string;
  /**
   * A body that is a list holds several events. Each is stored on its own, with its own id and entity; paths of `fields`
   * and `entity` are those within one of them. @default false: a body is one event
   */
  readonly batch?: boolean;
}

/** Checks a custom scheme and fills it up with the defaults of the generic one. */
export function defineScheme(scheme: Partial<Scheme> & Pick<Scheme, "signature">): Scheme {
  const whole: Scheme = {
    algorithm: "hmac-sha-256",
    encoding: "hex",
    format: { kind: "single", prefix: "" },
    content: "{body}",
    secretForm: "text",
    ...scheme,
  };
  if (whole.signature.length === 0)
    throw new TypeError("A scheme needs at least one signature source");
  for (const source of [...whole.signature, ...timeSources(whole)]) {
    if (!/^(header|body|pair):.+$/.test(source)) {
      throw new TypeError(`Unknown source "${source}": use "header:…", "body:…" or "pair:…"`);
    }
  }
  const unknown = whole.content.replaceAll(
    /\{(body|timestamp|id|method|url|decodedUrl|form|body:[^{}]+)\}/g,
    "",
  );
  if (/[{}]/.test(unknown))
    throw new TypeError(`Unknown part in the content template "${whole.content}"`);
  if (whole.content.includes("{timestamp}") && whole.timestamp === undefined) {
    throw new TypeError(
      "The content template has {timestamp}: say where it comes from in `timestamp`",
    );
  }
  if (whole.content.includes("{id}") && whole.signedId === undefined) {
    throw new TypeError("The content template has {id}: say where it comes from in `signedId`");
  }
  return Object.freeze(whole);
}

function timeSources(scheme: Scheme): Source[] {
  return scheme.timestamp === undefined ? [] : [scheme.timestamp.source];
}
