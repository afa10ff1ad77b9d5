import { describe, expect, it } from "vitest";
import { syncHmac } from "../../adapters/shared/sync-crypto.ts";

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
