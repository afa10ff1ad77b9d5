import { describe, expect, it } from "vitest";
import { syncCrypto, syncHmac } from "../../adapters/shared/sync-crypto.ts";
import { rawCipher } from "../../core/crypto/seal.ts";

const bytes = (length: number, seed: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + seed) % 256);

async function byWebCrypto(
  secret: Uint8Array<ArrayBuffer>,
  hash: string,
  data: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash };
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, data));
}

describe("syncHmac()", () => {
  for (const hash of ["SHA-1", "SHA-256", "SHA-512"] as const) {
    it(`signs as WebCrypto does with ${hash}: keys around a block, contents around what is copied`, async () => {
      for (const keyLength of [1, 32, 63, 64, 65, 127, 128, 129, 1000]) {
        const secret = bytes(keyLength, 7);
        const sign = syncHmac(secret, hash);
        // Falling lengths: nothing of a longer content may stay behind a shorter one.
        for (const length of [70_000, 16_385, 16_384, 1024, 64, 1, 0]) {
          const data = bytes(length, keyLength);
          expect(new Uint8Array(sign(data))).toEqual(await byWebCrypto(secret, hash, data));
        }
      }
    });
  }

  it("keeps its key whatever becomes of the caller's bytes", async () => {
    const secret = bytes(40, 3);
    const sign = syncHmac(secret, "SHA-256");
    const expected = await byWebCrypto(secret.slice(), "SHA-256", bytes(100, 1));
    secret.fill(0);
    expect(new Uint8Array(sign(bytes(100, 1)))).toEqual(expected);
  });
});

describe("aesGcm()", () => {
  const quick = rawCipher(bytes(32, 5), syncCrypto);
  const slow = rawCipher(bytes(32, 5), {});
  const nonce = bytes(12, 9);

  it("seals as WebCrypto does, and opens what that has sealed", async () => {
    for (const length of [0, 1, 16, 1200, 70_000]) {
      const sealed = await quick.seal(bytes(length, 3), "acmé/row", nonce);
      expect(sealed).toEqual(await slow.seal(bytes(length, 3), "acmé/row", nonce));
      expect(await quick.unseal(sealed, "acmé/row")).toEqual(bytes(length, 3));
      expect(await slow.unseal(sealed, "acmé/row")).toEqual(bytes(length, 3));
    }
  });

  it("opens nothing with another key or context, nor bytes that were changed or cut off", async () => {
    const sealed = await quick.seal(bytes(100, 3), "row", nonce);
    const other = rawCipher(bytes(32, 6), syncCrypto);
    expect(await other.unseal(sealed, "row")).toBeNull();
    expect(await quick.unseal(sealed, "another row")).toBeNull();
    for (const at of [0, 11, 12, 50, 111, 112, 127]) {
      const changed = sealed.slice();
      changed[at]! ^= 1;
      expect(await quick.unseal(changed, "row")).toBeNull();
    }
    for (const length of [0, 12, 27, 28, 127])
      expect(await quick.unseal(sealed.slice(0, length), "row")).toBeNull();
  });
});
