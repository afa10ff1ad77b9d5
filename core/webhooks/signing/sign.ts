import { fromBase64, toBase64, toHex, utf8, fromHex } from "../../crypto/encoding.ts";
import { hmacKey, hmacSign, type HmacHash } from "../../crypto/hmac.ts";
import { isEd25519, signEd25519, ed25519Key } from "./ed25519.ts";
import { nameOf } from "./pick.ts";
import type { Scheme } from "./scheme.ts";
import { signedContent, sourceReader } from "./signed-content.ts";
import { rawToDer } from "./der.ts";

/** A request to sign. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly body: Uint8Array;
  readonly contentType: string;
  /** The message id, for schemes that sign one. */
  readonly id: string;
  /** Unix ms. */
  readonly now: number;
}

/**
 * Returns the headers that a provider would send with a request. For schemes of public keys the secret is a private key, see
 * `signPrivately`. Throws `TypeError` for a scheme that signs in the body: that is `simulate`'s business.
 *
 * @example
 * ```ts
 * import { schemes, signLike } from "causey/webhooks";
 *
 * const request = {
 *   method: "POST",
 *   url: "https://example.com/webhooks/github",
 *   body: new TextEncoder().encode('{"zen":"Keep it simple"}'),
 *   contentType: "application/json",
 *   id: "1",
 *   now: 0,
 * };
 * const headers = await signLike(schemes.github, "secret", request);
 * headers.get("x-hub-signature-256")?.slice(0, 7); // → "sha256="
 * ```
 */
export async function signLike(
  scheme: Scheme,
  secret: string,
  request: UnsignedRequest,
): Promise<Headers> {
  const headers = new Headers({ "content-type": request.contentType });
  const [source = "body:none"] = scheme.signature;
  if (source.startsWith("query:"))
    throw new TypeError(`The scheme signs nothing: call the address with ${nameOf(source)}=SECRET`);
  if (!source.startsWith("header:")) throw new TypeError("The scheme does not sign in a header");
  if (scheme.algorithm === "token") {
    headers.set(nameOf(source), secret);
    return headers;
  }
  const time = timestampOf(scheme, request.now);
  if (scheme.timestamp?.source.startsWith("header:") === true) {
    headers.set(nameOf(scheme.timestamp.source), time);
  }
  if (scheme.signedId !== undefined) headers.set(nameOf(scheme.signedId), request.id);
  headers.set(nameOf(source), await signatureOf(scheme, secret, { ...request, headers }));
  return headers;
}

/** The signature of a request as it is written in its header or in its body. Throws `TypeError`. */
export async function signatureOf(
  scheme: Scheme,
  secret: string,
  request: UnsignedRequest & { readonly headers: Headers },
): Promise<string> {
  if (scheme.algorithm === "token") return secret;
  const time = timestampOf(scheme, request.now);
  const content = signedContent(scheme, request, {
    timestamp: time,
    read: sourceReader(request),
  });
  if (content === null)
    throw new TypeError("The scheme signs a part that the request does not have");
  const bytes = await signBytes(scheme, secret, new Uint8Array(content));
  const text = scheme.encoding === "hex" ? toHex(bytes) : toBase64(bytes);
  const { format } = scheme;
  if (format.kind === "versions") return `${isEd25519(secret) ? "v1a" : "v1"},${text}`;
  if (format.kind === "single") return `${format.prefix ?? ""}${text}`;
  const source = scheme.timestamp?.source ?? "";
  const stamp = source.startsWith("pair:") ? `${nameOf(source)}=${time}${format.separator}` : "";
  return `${stamp}${format.key}=${text}`;
}

/** A time as the scheme writes it. */
export function timestampOf(scheme: Scheme, now: number): string {
  const unit = scheme.timestamp?.unit;
  if (unit === "iso") return new Date(now).toISOString();
  return String(unit === "ms" ? now : Math.floor(now / 1000));
}

async function signBytes(
  scheme: Scheme,
  secret: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const { algorithm } = scheme;
  if (algorithm === "rsa-certificate" || algorithm === "jwt")
    throw new TypeError("Only the sender can sign: its certificate or its key is published");
  if (algorithm === "ed25519" || algorithm === "ecdsa-p256")
    return signPrivately(algorithm, secret, content);
  if (scheme.secretForm === "whsec" && isEd25519(secret)) return signEd25519(secret, content);
  const hash = algorithm.slice("hmac-".length).toUpperCase() as HmacHash;
  return hmacSign(await hmacKey(secretBytes(scheme, secret), hash), content);
}

function secretBytes(scheme: Scheme, secret: string): Uint8Array {
  if (scheme.secretForm !== "whsec") return utf8(secret);
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  if (bytes === null) throw new TypeError("The secret is not base64");
  return bytes;
}

/** Bytes of an Ed25519 private key as such, and with its public key behind it. */
const SEED_SIZES = [32, 64];

/**
 * Signs as a provider with a secret private key does, with a key of the caller's own, whose public key the receiver is
 * given. `text` is a private key as PKCS #8 (PEM, or base64 of its DER), for Ed25519 also its 32 bytes in hexadecimal
 * digits. ECDSA signatures are DER. Throws `TypeError` on any other text.
 */
export async function signPrivately(
  algorithm: "ed25519" | "ecdsa-p256",
  text: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = await importKey(algorithm, text).catch((cause: unknown) => {
    throw new TypeError(
      `The secret is not a private key for ${algorithm}: give it as PKCS #8 (PEM or base64)`,
      { cause },
    );
  });
  if (algorithm === "ed25519")
    return new Uint8Array(await crypto.subtle.sign("Ed25519", key, content));
  const parameters = { name: "ECDSA", hash: "SHA-256" };
  return rawToDer(new Uint8Array(await crypto.subtle.sign(parameters, key, content)));
}

async function importKey(algorithm: "ed25519" | "ecdsa-p256", text: string): Promise<CryptoKey> {
  const bare = text.replaceAll(/\s|-----[A-Z ]+-----/g, "");
  const hex = algorithm === "ed25519" ? fromHex(bare.toLowerCase()) : null;
  if (hex !== null && SEED_SIZES.includes(hex.length)) return ed25519Key(hex, false);
  const pkcs8 = fromBase64(bare);
  if (pkcs8 === null || pkcs8.length === 0) throw new TypeError("Neither base64 nor hexadecimal");
  const name = algorithm === "ed25519" ? "Ed25519" : { name: "ECDSA", namedCurve: "P-256" };
  return crypto.subtle.importKey("pkcs8", pkcs8, name, false, ["sign"]);
}
