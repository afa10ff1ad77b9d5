import { fromBase64, fromHex } from "../../crypto/encoding.ts";
import { rawToDer } from "./der.ts";
import { ed25519Key } from "./ed25519.ts";

/** Bytes of an Ed25519 private key as such, and with its public key behind it. */
const SEED_SIZES = [32, 64];

/**
 * Signs as those providers do whose private key nobody has: with one of one's own, whose public key the receiver is
 * given. `text` is a private key as PKCS #8 (PEM, or base64 of its DER), for Ed25519 also its 32 bytes in hexadecimal
 * digits. ECDSA signatures are DER. Throws `TypeError` when it is no such key.
 */
export async function signPrivately(
  algorithm: "ed25519" | "ecdsa-p256",
  text: string,
  content: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = await importKey(algorithm, text).catch((cause: unknown) => {
    throw new TypeError(`The secret is no private key for ${algorithm}`, { cause });
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
