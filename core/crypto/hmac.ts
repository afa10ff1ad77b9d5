import type { SyncCrypto } from "../ports.ts";
import { utf8 } from "./encoding.ts";

/** Hash functions that webhook senders use with HMAC. */
export type HmacHash = "SHA-256" | "SHA-1" | "SHA-512";

/** An imported key, by what makes it: the types of Node 20 have no global `CryptoKey`. */
export type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Imports an HMAC key once; keep it, importing costs as much as signing a kilobyte. */
export function hmacKey(secret: string | Uint8Array, hash: HmacHash = "SHA-256"): Promise<HmacKey> {
  const raw = typeof secret === "string" ? utf8(secret) : new Uint8Array(secret);
  return crypto.subtle.importKey("raw", raw, { name: "HMAC", hash }, false, ["sign", "verify"]);
}

/** Signs bytes or UTF-8 text. */
export async function hmacSign(
  key: HmacKey,
  data: string | Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = typeof data === "string" ? utf8(data) : new Uint8Array(data);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes));
}

/** Longest content that is signed on the spot, in bytes: about 0.1 ms during which nothing else runs. */
export const SIGN_NOW_BYTES = 65_536;

/** Signs with a key that is used for this once: at once where the runtime can. */
export async function signOnce(
  system: Pick<SyncCrypto, "hmac">,
  secret: string | Uint8Array,
  data: string | Uint8Array,
): Promise<Uint8Array> {
  const bytes = typeof data === "string" ? utf8(data) : data;
  if (system.hmac !== undefined && bytes.length <= SIGN_NOW_BYTES)
    return system.hmac(typeof secret === "string" ? utf8(secret) : secret, "SHA-256")(bytes);
  return hmacSign(await hmacKey(secret), bytes);
}

/** Verifies a signature in constant time. */
export function hmacVerify(
  key: HmacKey,
  signature: Uint8Array,
  data: Uint8Array,
): Promise<boolean> {
  return crypto.subtle.verify("HMAC", key, new Uint8Array(signature), new Uint8Array(data));
}
