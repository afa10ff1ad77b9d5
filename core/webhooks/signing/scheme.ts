import type { HmacHash } from "../../crypto/hmac.ts";

/**
 * The place of a value in a request: `header:x-name`, `body:dot.path` (of the parsed body; `*` stands for every
 * element of a list, whose texts have to be the same), or `pair:t` (of the
 * `t=…,v1=…` list in the signature header).
 */
export type Source = `header:${string}` | `body:${string}` | `pair:${string}`;

/** A {@link Source}, or a parameter of the address: `query:name`. */
export type RequestSource = Source | `query:${string}`;

/**
 * The source of an event's id: one value, or several that identify it only together (all of them are needed; they are
 * joined by `:`). `digest:payload` stands for the SHA-256 of the event's JSON, for senders whose events carry a time
 * but no id.
 */
export type IdSource = Source | typeof DIGEST | readonly (Source | typeof DIGEST)[];

/** The id source that stands for the SHA-256 of the event's JSON. */
export const DIGEST = "digest:payload";

/**
 * The signature algorithm. `token` compares the header with the secret itself. `rsa-certificate` takes the public key
 * from a certificate of the sender, `jwt` reads the signature as a JSON Web Token.
 */
export type Algorithm =
  | `hmac-${Lowercase<HmacHash>}`
  | "ed25519"
  | "ecdsa-p256"
  | "token"
  | "rsa-certificate"
  | "jwt";

/** The certificate of an `rsa-certificate` (RSASSA-PKCS1-v1_5). */
export interface CertificateRule {
  /** The source of its address. */
  readonly url: Source;
  /** The addresses that are the sender's: https, its host and the path. */
  readonly address: RegExp;
  /** The hashes that the sender uses. */
  readonly hashes: readonly ("SHA-256" | "SHA-1")[];
  /** The source of the value that has to be the secret: the certificate signs for all accounts of the sender. */
  readonly pin?: Source;
}

/** The JSON Web Token (RFC 7519) of a `jwt`. */
export interface JwtRule {
  readonly algorithms: readonly string[];
  /** The secret itself, a key set (RFC 7517), or an address that is asked for one key, with the secret's credentials. */
  readonly keys: "secret" | { readonly jwks: string } | { readonly lookup: string };
  readonly issuer?: string;
  /** `aud` has to be the source's `audience`, by default the address that was called. @default false */
  readonly audience?: boolean;
  /** The claim that has to be the secret. */
  readonly pin?: string;
  /** Claims that have to have a value. */
  readonly claims?: Readonly<Record<string, string | boolean>>;
  /** The claim that has to be the SHA-256 of the body in hexadecimal digits. */
  readonly bodyHash?: string;
  /** Greatest age by `iat`. @default `exp` is required instead */
  readonly maxAgeSeconds?: number;
}

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
  /** `iso`: RFC 3339 text. */
  readonly unit: "s" | "ms" | "iso";
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

/** A request by which a sender tests its receiver, and the answer that it expects. */
export interface Handshake {
  readonly method: "GET" | "HEAD" | "OPTIONS" | "POST";
  /**
   * The sources that mark the request and their values; `true` stands for any text, `[]` for a list of nothing. @default
   * every request of the method
   */
  readonly when?: Readonly<Partial<Record<RequestSource, string | true | readonly []>>>;
  /** Whether the signature is verified first. @default true for POST, else false */
  readonly signed?: boolean;
  /** The source of the text that has to be the `verifyToken` of the webhook source. */
  readonly token?: RequestSource;
  /** An address to call before the answer: https, on a host that the expression matches. */
  readonly confirm?: { readonly url: RequestSource; readonly host: RegExp };
  readonly answer: HandshakeAnswer;
}

/** The answer to a handshake. A request that lacks one of its values is an event. */
export interface HandshakeAnswer {
  /** The HTTP status. @default 200 */
  readonly status?: number;
  /** The value to echo as plain text. @default no body */
  readonly text?: RequestSource;
  /** The members of a JSON object. */
  readonly json?: Readonly<Record<string, HandshakeValue>>;
  readonly headers?: Readonly<Record<string, RequestSource>>;
}

/** A value to echo, a number, or the HMAC-SHA256 of a value under the source's secret. */
export type HandshakeValue =
  | RequestSource
  | number
  | {
      readonly hmac: RequestSource;
      readonly encoding: "hex" | "base64";
      readonly prefix?: string;
    };

/** One provider's signature scheme, as data. */
export interface Scheme {
  readonly algorithm: Algorithm;
  readonly encoding: "hex" | "base64";
  /** The places of the signature; the first one that a request has counts. */
  readonly signature: readonly RequestSource[];
  /** All of `signature` that a request has are tried, not only the first. @default false */
  readonly everySignature?: boolean;
  readonly format: SignatureFormat;
  /**
   * The template of the signed text: `{body}` (raw bytes), `{timestamp}`, `{id}`, `{method}`, `{url}`, `{decodedUrl}`,
   * `{form}` (sorted form parameters, Twilio), `{crc32}` (of the body), `{secret}`, `{fields:A,B}` (a line for the name and
   * one for the value of each that the body has), `{header:name}` and `{body:dot.path}`.
   */
  readonly content: string;
  readonly timestamp?: TimestampRule;
  readonly certificate?: CertificateRule;
  readonly jwt?: JwtRule;
  /** The value for `{id}`. */
  readonly signedId?: Source;
  /** `text`: the secret's UTF-8 bytes. `whsec`: base64 behind an optional `whsec_`, or a `whpk_` public key. */
  readonly secretForm: "text" | "whsec" | "hex" | "spki";
  /** Shortest secret that is accepted, in characters. @default 8 */
  readonly minSecretLength?: number;
  /** The requests by which the sender tests its receiver; the first that fits is answered, and none is stored. */
  readonly handshakes?: readonly Handshake[];
  /**
   * The answer to a form, or to an event by GET, whose handler returns none. A person waits for it, and the sender shows or
   * runs it. @default the API's
   */
  readonly formAnswer?: {
    readonly status: number;
    readonly type: string | null;
    readonly body: string;
  };
  /** Methods of events beside POST. @default [] */
  readonly methods?: readonly "GET"[];
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
   * A body that is a list, or has one in this member, holds several events. Each is stored on its own, with its own id and
   * entity; paths of `fields` and `entity` are those within one of them. @default false: a body is one event
   */
  readonly batch?: boolean | string;
}

/**
 * Checks a custom scheme, and adds the defaults of the scheme `generic`.
 *
 * @example
 * ```ts
 * import { defineScheme } from "causey/webhooks";
 *
 * const acme = defineScheme({ signature: ["header:x-acme-signature"] });
 * acme.algorithm; // → "hmac-sha-256"
 * ```
 */
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
  whole.signature.forEach(checkSource);
  if (whole.timestamp !== undefined) checkSource(whole.timestamp.source);
  for (const handshake of whole.handshakes ?? []) handshakeSources(handshake).forEach(checkSource);
  const unknown = whole.content.replaceAll(
    /\{(body|timestamp|id|method|url|decodedUrl|form|crc32|secret|(body|header|fields):[^{}]+)\}/g,
    "",
  );
  if (/[{}]/.test(unknown))
    throw new TypeError(`Unknown part in the content template "${whole.content}"`);
  if ((whole.algorithm === "rsa-certificate") !== (whole.certificate !== undefined))
    throw new TypeError('"rsa-certificate" and `certificate` belong together');
  if ((whole.algorithm === "jwt") !== (whole.jwt !== undefined))
    throw new TypeError('"jwt" and `jwt` belong together');
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

function checkSource(source: string): void {
  if (/^(header|body|pair|query):.+$/.test(source)) return;
  throw new TypeError(
    `Unknown source "${source}": use "header:…", "body:…", "pair:…" or "query:…"`,
  );
}

function handshakeSources({ answer, confirm, token, when = {} }: Handshake): string[] {
  const values = Object.values(answer.json ?? {}).map((one) =>
    typeof one === "object" ? one.hmac : one,
  );
  const named = [
    answer.text,
    confirm?.url,
    token,
    ...Object.values(answer.headers ?? {}),
    ...values,
  ];
  return [...Object.keys(when), ...named.filter((one) => typeof one === "string")];
}
