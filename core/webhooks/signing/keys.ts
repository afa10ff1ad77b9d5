import type { NowOrLater } from "../../work/now-or-later.ts";
import { sha256 } from "../../crypto/digest.ts";
import { fromBase64, fromHex, utf8 } from "../../crypto/encoding.ts";
import { constantTimeEqual } from "../../crypto/equal.ts";
import { hmacKey, hmacVerify, SIGN_NOW_BYTES, type HmacHash } from "../../crypto/hmac.ts";
import { parseInstant } from "../../http/fields/instant.ts";
import type { System } from "../../ports.ts";
import { derToRaw } from "./der.ts";
import type { RemoteKeys } from "./remote-keys.ts";
import { certificateVerifier, jwtVerifier, type Checked } from "./remote-verifier.ts";
import type { Scheme } from "./scheme.ts";

/** A secret that expires: during a rotation both the old and the new secret match. */
export interface Secret {
  readonly secret: string;
  /** RFC 3339 instant or Unix ms from which on it no longer matches. @default never */
  readonly expiresAt?: string | number;
}

/** A secret made ready; its CryptoKey is imported on first use and kept. */
export interface Key {
  /** Unix ms; Infinity = never. */
  readonly expires: number;
  /** The items of a `versions` list that it can check. */
  readonly version: "v1" | "v1a";
  /** The secret, where the scheme signs it. */
  readonly signed?: string;
  /** Answers at once where the runtime can. Throws 503 when a published key cannot be read. */
  verify(signature: Uint8Array, content: Uint8Array, checked: Checked): NowOrLater<boolean>;
}

/** Shortest key behind `whsec_`, in bytes; the Standard Webhooks specification asks for 24 to 64. */
const MIN_KEY_BYTES = 16;

/** Bytes of an Ed25519 signature (RFC 8032, section 5.1.6). */
const ED25519_BYTES = 64;

/** The part of a runtime that keys use. */
export type KeySystem = Pick<System, "hmac">;

/** The surroundings of a source's keys. */
export interface KeyContext {
  /** @default keys of the runtime's own crypto */
  readonly system?: KeySystem;
  /** Reads published keys. @default schemes that have such are refused */
  readonly remote?: RemoteKeys;
  /** The audience of tokens. @default the address that was called */
  readonly audience?: string | undefined;
}

/** Checks a secret and makes it ready. Throws `TypeError` on an empty, blank, short or malformed one. */
export function prepareKey(
  scheme: Scheme,
  secret: string | Secret,
  where: string,
  context: KeyContext = {},
): Key {
  const { secret: text, expiresAt } =
    typeof secret === "string" ? { secret, expiresAt: undefined } : secret;
  const shortest = scheme.minSecretLength ?? 8;
  if (typeof text !== "string" || text.trim().length < shortest) {
    throw new TypeError(`The secret of ${where} is shorter than ${shortest} characters`);
  }
  const expires = expiry(expiresAt, where);
  const signed = scheme.content.includes("{secret}") ? { signed: text } : {};
  return { expires, ...signed, ...verifier(scheme, text, where, context) };
}

function expiry(value: string | number | undefined, where: string): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  const ms = typeof value === "number" ? value : parseInstant(value);
  if (ms === null || !Number.isFinite(ms)) {
    throw new TypeError(`The secret of ${where} has no valid expiresAt: give an RFC 3339 instant`);
  }
  return ms;
}

type Verifier = Pick<Key, "version" | "verify">;

function verifier(scheme: Scheme, text: string, where: string, context: KeyContext): Verifier {
  switch (scheme.algorithm) {
    case "rsa-certificate":
    case "jwt":
      return { version: "v1", verify: published(scheme, text, where, context) };
    case "token":
      return tokenVerifier(text);
    case "ed25519":
      return ed25519(decoded(fromHex(text.toLowerCase()), 32, where), "v1");
    case "ecdsa-p256":
      return ecdsa(
        decoded(fromBase64(text.replaceAll(/\s|-----[A-Z ]+-----/g, "")), undefined, where),
      );
    default:
      return hmacVerifier(scheme, text, where, context.system ?? {});
  }
}

function published(
  { certificate, jwt }: Scheme,
  secret: string,
  where: string,
  { audience, remote }: KeyContext,
): Verifier["verify"] {
  if (jwt?.keys === "secret") return jwtVerifier(jwt, { secret, audience }, null);
  if (remote === undefined)
    throw new TypeError(`The ${where} has a scheme of published keys, which only webhooks() reads`);
  if (certificate !== undefined) return certificateVerifier(certificate, secret, remote);
  if (jwt === undefined) throw new TypeError(`The ${where} has a scheme without keys`);
  if (typeof jwt.keys === "object" && "lookup" in jwt.keys && !/^[^:]+:[^:]+$/.test(secret))
    throw new TypeError(`The secret of ${where} has to be "client_id:secret"`);
  return jwtVerifier(jwt, { secret, audience }, remote);
}

function hmacVerifier(scheme: Scheme, text: string, where: string, system: KeySystem): Verifier {
  const hash = scheme.algorithm.slice("hmac-".length).toUpperCase() as HmacHash;
  if (scheme.secretForm === "whsec") {
    if (text.startsWith("whpk_"))
      return ed25519(decoded(fromBase64(text.slice(5)), 32, where), "v1a");
    return hmac(decoded(fromBase64(text.replace(/^whsec_/, "")), undefined, where), hash, system);
  }
  return hmac(utf8(text), hash, system);
}

function decoded(
  bytes: Uint8Array<ArrayBuffer> | null,
  size: number | undefined,
  where: string,
): Uint8Array<ArrayBuffer> {
  const fits =
    bytes !== null && (size === undefined ? bytes.length >= MIN_KEY_BYTES : bytes.length === size);
  if (!fits)
    throw new TypeError(`The secret of ${where} does not decode to a key of the expected size`);
  return bytes;
}

function hmac(secret: Uint8Array, hash: HmacHash, system: KeySystem): Verifier {
  const key = once(() => hmacKey(secret, hash));
  const signNow = system.hmac?.(secret, hash);
  return {
    version: "v1",
    verify(signature, content) {
      if (signNow === undefined || content.length > SIGN_NOW_BYTES)
        return key().then((ready) => hmacVerify(ready, signature, content));
      return constantTimeEqual(signNow(content), signature);
    },
  };
}

function ed25519(raw: Uint8Array<ArrayBuffer>, version: "v1" | "v1a"): Verifier {
  const key = once(() => crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]));
  return {
    version,
    // workerd throws on a signature of another length; other runtimes report a mismatch.
    verify: async (signature, content) =>
      signature.length === ED25519_BYTES &&
      crypto.subtle.verify(
        "Ed25519",
        await key(),
        new Uint8Array(signature),
        new Uint8Array(content),
      ),
  };
}

function ecdsa(spki: Uint8Array<ArrayBuffer>): Verifier {
  const parameters = { name: "ECDSA", namedCurve: "P-256" };
  const key = once(() => crypto.subtle.importKey("spki", spki, parameters, false, ["verify"]));
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  return {
    version: "v1",
    async verify(signature, content) {
      const raw = derToRaw(signature);
      return (
        raw !== null && crypto.subtle.verify(algorithm, await key(), raw, new Uint8Array(content))
      );
    },
  };
}

/** Compares digests, which have one length, so the time does not reveal the length of the secret. */
function tokenVerifier(text: string): Verifier {
  const expected = once(() => sha256(text));
  return {
    version: "v1",
    verify: async (signature) => constantTimeEqual(await expected(), await sha256(signature)),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
