import { fromBase64 } from "../../crypto/encoding.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";

/** The bytes before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7). */
const PKCS8_HEAD = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
const SEED_BYTES = 32;

/** Whether a secret is an Ed25519 private key in the form of Standard Webhooks (`whsk_…`). */
export function isEd25519(secret: string): boolean {
  return secret.startsWith("whsk_");
}

/** The public key of a `whsk_…`, as `whpk_…`. Throws 400 on a malformed key. */
export async function publicKeyOf(secret: string): Promise<string> {
  const { x } = await crypto.subtle.exportKey("jwk", await privateKey(secret, true));
  if (x === undefined) throw new ApiError("internal");
  return `whpk_${x.replaceAll("-", "+").replaceAll("_", "/")}=`;
}

/** Signs with a `whsk_…`. */
export async function signEd25519(
  secret: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = await privateKey(secret, false);
  return new Uint8Array(await crypto.subtle.sign("Ed25519", key, content));
}

/** Other tools write the seed alone, or the seed and the public key behind it: both are taken. */
async function privateKey(secret: string, extractable: boolean): Promise<CryptoKey> {
  const bytes = fromBase64(secret.slice("whsk_".length));
  if (bytes === null || (bytes.length !== SEED_BYTES && bytes.length !== 2 * SEED_BYTES)) {
    throw invalidRequest('expected "whsk_" and an Ed25519 private key of 32 or 64 bytes in base64');
  }
  return ed25519Key(bytes, extractable);
}

/** The private key whose seed the bytes begin with. */
export function ed25519Key(bytes: Uint8Array, extractable: boolean): Promise<CryptoKey> {
  const pkcs8 = new Uint8Array([...PKCS8_HEAD, ...bytes.subarray(0, SEED_BYTES)]);
  return crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", extractable, ["sign"]);
}
