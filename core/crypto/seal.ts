import { fromBase64, toBase64, utf8 } from "./encoding.ts";

/** A key that {@link seal} and {@link unseal} take. */
export type SealingKey = CryptoKey;

/** Derives a sealing key from a master secret (HKDF-SHA-256, then AES-256-GCM). `purpose` separates uses of one secret. */
export async function sealingKey(masterSecret: string, purpose: string): Promise<SealingKey> {
  const material = await crypto.subtle.importKey("raw", utf8(masterSecret), "HKDF", false, [
    "deriveKey",
  ]);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: utf8("causey.seal.v1"), info: utf8(purpose) },
    material,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"],
  );
}

/**
 * Seals text for storage: base64 of a 12-byte nonce and the AES-GCM ciphertext.
 * `context` (e.g. the row's id) is authenticated, so a sealed value cannot be moved to another row.
 */
export async function seal(
  key: SealingKey,
  plaintext: string,
  context: string,
  nonce: Uint8Array,
): Promise<string> {
  const iv = new Uint8Array(nonce);
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: utf8(context) },
    key,
    utf8(plaintext),
  );
  const out = new Uint8Array(iv.length + sealed.byteLength);
  out.set(iv);
  out.set(new Uint8Array(sealed), iv.length);
  return toBase64(out);
}

/** Opens what {@link seal} made; null when the key, the context or the text is wrong. */
export async function unseal(
  key: SealingKey,
  sealed: string,
  context: string,
): Promise<string | null> {
  const bytes = fromBase64(sealed);
  if (bytes === null || bytes.length < 28) return null;
  try {
    const plain = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: bytes.subarray(0, 12), additionalData: utf8(context) },
      key,
      bytes.subarray(12),
    );
    return new TextDecoder().decode(plain);
  } catch {
    return null;
  }
}
