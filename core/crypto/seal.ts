import type { System } from "../ports.ts";
import type { NowOrLater } from "../work/now-or-later.ts";
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

/** The sealing key that 32 random or derived bytes are. */
export function rawSealingKey(bytes: Uint8Array<ArrayBuffer>): Promise<SealingKey> {
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
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
  return toBase64(await sealBytes(key, utf8(plaintext), context, nonce));
}

/** Opens what {@link seal} made; null when the key, the context or the text is wrong. */
export async function unseal(
  key: SealingKey,
  sealed: string,
  context: string,
): Promise<string | null> {
  const bytes = fromBase64(sealed);
  const plain = bytes === null ? null : await unsealBytes(key, bytes, context);
  return plain === null ? null : new TextDecoder().decode(plain);
}

/** {@link seal} of bytes: the 12-byte nonce and the ciphertext. */
export async function sealBytes(
  key: SealingKey,
  plain: Uint8Array<ArrayBuffer>,
  context: string,
  nonce: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const iv = new Uint8Array(nonce);
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: utf8(context) },
    key,
    plain,
  );
  const out = new Uint8Array(iv.length + sealed.byteLength);
  out.set(iv);
  out.set(new Uint8Array(sealed), iv.length);
  return out;
}

/** {@link unseal} of bytes. */
export async function unsealBytes(
  key: SealingKey,
  sealed: Uint8Array<ArrayBuffer>,
  context: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  if (sealed.length < 28) return null;
  try {
    const plain = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: sealed.subarray(0, 12), additionalData: utf8(context) },
      key,
      sealed.subarray(12),
    );
    return new Uint8Array(plain);
  } catch {
    return null;
  }
}

/** {@link sealBytes} and {@link unsealBytes} with one key. */
export interface RawCipher {
  seal(
    plain: Uint8Array<ArrayBuffer>,
    context: string,
    nonce: Uint8Array,
  ): NowOrLater<Uint8Array<ArrayBuffer>>;
  unseal(
    sealed: Uint8Array<ArrayBuffer>,
    context: string,
  ): NowOrLater<Uint8Array<ArrayBuffer> | null>;
}

/** Makes a cipher of 32 random or derived bytes that works at once where the runtime can. */
export function rawCipher(key: Uint8Array<ArrayBuffer>, system: Pick<System, "aesGcm">): RawCipher {
  if (system.aesGcm !== undefined) return system.aesGcm(key);
  const imported = rawSealingKey(key);
  return {
    seal: async (plain, context, nonce) => sealBytes(await imported, plain, context, nonce),
    unseal: async (sealed, context) => unsealBytes(await imported, sealed, context),
  };
}
