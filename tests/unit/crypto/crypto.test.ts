import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../../core/crypto/digest.ts";
import {
  fromBase64,
  fromBase64Url,
  fromHex,
  toBase64,
  toBase64Url,
  toHex,
  utf8,
  utf8Counter,
} from "../../../core/crypto/encoding.ts";
import { constantTimeEqual } from "../../../core/crypto/equal.ts";
import { hmacKey, hmacSign, hmacVerify } from "../../../core/crypto/hmac.ts";
import { seal, sealingKey, unseal } from "../../../core/crypto/seal.ts";

const bytes = fc.uint8Array({ maxLength: 300 });

describe("sha256Hex()", () => {
  it("matches the vectors of FIPS 180-2", async () => {
    expect(await sha256Hex("abc")).toBe(
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
    expect(await sha256Hex("")).toBe(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
  });
});

describe("HMAC", () => {
  it("matches RFC 4231, test case 2, in both hashes", async () => {
    const data = "what do ya want for nothing?";
    expect(toHex(await hmacSign(await hmacKey("Jefe"), data))).toBe(
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    );
    expect(toHex(await hmacSign(await hmacKey("Jefe", "SHA-512"), data))).toMatch(
      /^164b7a7bfcf819e2e395fbe73b56e0a3/,
    );
  });

  it("matches RFC 2202, test case 2, with SHA-1", async () => {
    const key = await hmacKey("Jefe", "SHA-1");
    const signature = await hmacSign(key, "what do ya want for nothing?");
    expect(toHex(signature)).toBe("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  });

  it("verifies its own signature and refuses every changed bit", async () => {
    const key = await hmacKey("secret");
    const data = utf8("payload");
    const signature = await hmacSign(key, data);
    expect(await hmacVerify(key, signature, data)).toBe(true);
    for (let i = 0; i < signature.length; i++) {
      const changed = signature.slice();
      changed[i]! ^= 1;
      expect(await hmacVerify(key, changed, data)).toBe(false);
    }
    expect(await hmacVerify(key, signature.slice(1), data)).toBe(false);
    expect(await hmacVerify(key, new Uint8Array(0), data)).toBe(false);
  });
});

describe("encodings", () => {
  it("round-trip any bytes", () => {
    fc.assert(
      fc.property(bytes, (data) => {
        expect(fromHex(toHex(data))).toEqual(new Uint8Array(data));
        expect(fromBase64(toBase64(data))).toEqual(new Uint8Array(data));
        expect(fromBase64Url(toBase64Url(data))).toEqual(new Uint8Array(data));
      }),
    );
  });

  it("for URLs have characters of their own, and no padding", () => {
    expect(toBase64Url(new Uint8Array([251, 240]))).toBe("-_A");
    for (const text of ["+_A", "-/A", "-_A=", "-_A A", "-_A-A"])
      expect(fromBase64Url(text)).toBeNull();
  });

  it("handle more bytes than a call takes arguments", () => {
    const large = new Uint8Array(300_000).fill(7);
    expect(fromBase64(toBase64(large))).toEqual(large);
  });

  it("match RFC 4648 section 10", () => {
    expect(["", "f", "fo", "foo", "foob"].map((text) => toBase64(utf8(text)))).toEqual([
      "",
      "Zg==",
      "Zm8=",
      "Zm9v",
      "Zm9vYg==",
    ]);
    expect(toHex(utf8("foobar"))).toBe("666f6f626172");
  });

  it("are strict: no upper-case hex, no white space, padding required", () => {
    expect(["A0", "a", "zz", " a0"].map(fromHex)).toEqual([null, null, null, null]);
    expect(["Zg", "Zg=", "Zm8 ", "Zm8=\n", "Z===", "Zm-_"].map(fromBase64)).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});

describe("constantTimeEqual()", () => {
  it("is equality", () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(constantTimeEqual(a, b)).toBe(toHex(a) === toHex(b));
        expect(constantTimeEqual(a, a.slice())).toBe(true);
      }),
    );
  });
});

describe("seal()", () => {
  const nonce = (): Uint8Array => crypto.getRandomValues(new Uint8Array(12));

  it("opens with the same secret, purpose and context only", async () => {
    const key = await sealingKey("master", "providers");
    const sealed = await seal(key, "sk-secret ✓", "row-1", nonce());
    expect(sealed).not.toContain("secret");
    expect(await unseal(key, sealed, "row-1")).toBe("sk-secret ✓");
    expect(await unseal(key, sealed, "row-2")).toBeNull();
    expect(await unseal(await sealingKey("master", "webhooks"), sealed, "row-1")).toBeNull();
    expect(await unseal(await sealingKey("other", "providers"), sealed, "row-1")).toBeNull();
  });

  it("refuses anything changed, cut or invented", async () => {
    const key = await sealingKey("master", "p");
    const sealed = fromBase64(await seal(key, "text", "c", nonce()))!;
    for (let i = 0; i < sealed.length; i++) {
      const changed = sealed.slice();
      changed[i]! ^= 1;
      expect(await unseal(key, toBase64(changed), "c")).toBeNull();
    }
    for (const text of ["", "nope", toBase64(sealed.slice(0, 20))])
      expect(await unseal(key, text, "c")).toBeNull();
  });
});

describe("utf8Counter()", () => {
  it("counts as many bytes as encoding gives", () => {
    const bytesIn = utf8Counter();
    for (const text of ["", "plain", "größer", "€", "😀", "\ud800 alone"]) {
      expect(bytesIn(text)).toBe(utf8(text).byteLength);
      // Longer than a block, whose end falls into characters of several bytes.
      const long = `${text}x`.repeat(20_000);
      expect(bytesIn(long)).toBe(utf8(long).byteLength);
    }
  });
});
