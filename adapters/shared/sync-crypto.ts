import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hash } from "node:crypto";
import type { SyncCipher, SyncCrypto } from "../../core/ports.ts";
import { fromHex, utf8 } from "../../core/crypto/encoding.ts";

/** Hash functions by their names in WebCrypto: their names here, and the bytes of their blocks and digests. */
const hashes = {
  "SHA-1": { name: "sha1", block: 64, digest: 20 },
  "SHA-256": { name: "sha256", block: 64, digest: 32 },
  "SHA-512": { name: "sha512", block: 128, digest: 64 },
} as const;

/** Longest content that is copied behind the inner pad, in bytes. */
const COPIED_BYTES = 16_384;

/**
 * Makes a signer with one HMAC key (RFC 2104) that works at once. Of two one-shot hashes whose pads are made once:
 * `createHmac` makes objects that the collector has to clear away, and costs twice as much on Node and Deno.
 */
export function syncHmac(
  secret: Uint8Array,
  algorithm: keyof typeof hashes,
): (data: Uint8Array) => Uint8Array {
  const { block, digest, name } = hashes[algorithm];
  // A copy: what the caller does to its bytes later changes no signature.
  const key = secret.length > block ? bytesOf(hash(name, secret, "hex")) : secret.slice();
  const inner = padded(key, 0x36, block, COPIED_BYTES);
  const outer = padded(key, 0x5c, block, digest);
  return (data) => {
    if (data.length > COPIED_BYTES) return createHmac(name, key).update(data).digest();
    inner.set(data, block);
    outer.set(bytesOf(hash(name, inner.subarray(0, block + data.length), "hex")), block);
    return bytesOf(hash(name, outer, "hex"));
  };
}

/** Returns the key over a block of `pad`, with room for `more` bytes behind it. */
function padded(key: Uint8Array, pad: number, block: number, more: number): Uint8Array {
  const bytes = new Uint8Array(block + more).fill(pad, 0, block);
  for (const [index, byte] of key.entries()) bytes[index] = byte ^ pad;
  return bytes;
}

/** Text, because making a `Buffer` costs Deno more than the hash; it is what {@link hash} made, so never null. */
function bytesOf(hex: string): Uint8Array {
  return fromHex(hex) ?? new Uint8Array(0);
}

/** Bytes of a nonce and of a tag (NIST SP 800-38D, sections 5.2.1.1 and 5.2.1.2). */
const NONCE = 12;
const TAG = 16;

/** Makes a cipher with one key of 32 bytes. Node takes five times as long to find out that bytes are no key object. */
function syncAesGcm(bytes: Uint8Array): SyncCipher {
  const key = createSecretKey(bytes);
  return {
    seal(plain, context, nonce) {
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      cipher.setAAD(utf8(context));
      const out = new Uint8Array(NONCE + plain.length + TAG);
      out.set(nonce);
      out.set(cipher.update(plain), NONCE);
      cipher.final();
      out.set(cipher.getAuthTag(), NONCE + plain.length);
      return out;
    },
    unseal(sealed, context) {
      if (sealed.length < NONCE + TAG) return null;
      const nonce = sealed.subarray(0, NONCE);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG });
      decipher.setAAD(utf8(context));
      decipher.setAuthTag(sealed.subarray(-TAG));
      const plain = new Uint8Array(decipher.update(sealed.subarray(NONCE, -TAG)));
      try {
        decipher.final();
        return plain;
      } catch {
        return null;
      }
    },
  };
}

/** The optional members of `System` beside WebCrypto, for runtimes with `node:crypto`: Node, Deno and Bun. */
export const syncCrypto: Required<SyncCrypto> = {
  sha256Hex: (data) => hash("sha256", data, "hex"),
  hmac: syncHmac,
  aesGcm: syncAesGcm,
};
