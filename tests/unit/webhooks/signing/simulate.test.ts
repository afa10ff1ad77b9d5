import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { toBase64, toHex, utf8 } from "../../../../core/crypto/encoding.ts";
import { derToRaw, rawToDer } from "../../../../core/webhooks/signing/der.ts";
import { prepareKey } from "../../../../core/webhooks/signing/keys.ts";
import { signPrivately } from "../../../../core/webhooks/signing/sign.ts";
import type { Scheme } from "../../../../core/webhooks/signing/scheme.ts";
import { schemes } from "../../../../core/webhooks/signing/schemes.ts";
import { simulate } from "../../../../core/webhooks/signing/simulate.ts";
import { verify } from "../../../../core/webhooks/signing/verify.ts";

const NOW = 1_700_000_000_000;

/** What the two sides of a scheme are given. */
async function secretsOf(scheme: Scheme): Promise<{ sender: string; receiver: string }> {
  if (scheme.algorithm === "ed25519") {
    const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
    const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
    return { sender: toBase64(pkcs8), receiver: toHex(raw) };
  }
  if (scheme.algorithm === "ecdsa-p256") {
    const parameters = { name: "ECDSA", namedCurve: "P-256" };
    const pair = await crypto.subtle.generateKey(parameters, true, ["sign", "verify"]);
    const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
    const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
    const lines =
      toBase64(pkcs8)
        .match(/.{1,64}/g)
        ?.join("\n") ?? "";
    return {
      sender: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
      receiver: toBase64(spki),
    };
  }
  const secret = scheme.secretForm === "whsec" ? `whsec_${"A".repeat(32)}` : "a long enough secret";
  return { sender: secret, receiver: secret };
}

const request = {
  method: "POST",
  url: "https://hooks.test/a%20b?c=d",
  body: utf8(JSON.stringify({ a: "ü", signature: { other: 1 } })),
  contentType: "application/json",
  id: "m1",
  type: "made.up",
  now: NOW,
};

describe("simulate()", () => {
  const inAddress = Object.entries(schemes).filter(
    ([
      ,
      {
        signature: [first = ""],
      },
    ]) => first.startsWith("query:"),
  );
  it.each(inAddress)("says that the token of %s is in the address", async (_, scheme) => {
    const simulated = simulate(scheme, "a long enough secret", request);
    await expect(simulated).rejects.toThrow("call the address with token=SECRET");
  });

  const published = Object.entries(schemes).filter(([, { algorithm }]) =>
    ["rsa-certificate", "jwt"].includes(algorithm),
  );
  it.each(published)("says that only the sender itself signs as %s", async (name, scheme) => {
    const body = utf8(JSON.stringify({ Message: name, TopicArn: "a" }));
    const simulated = simulate(scheme, "a long enough secret", { ...request, body });
    await expect(simulated).rejects.toThrow(TypeError);
  });

  for (const [name, scheme] of Object.entries(schemes)) {
    if (published.some(([other]) => other === name)) continue;
    if (inAddress.some(([other]) => other === name)) continue;
    it(`sends what ${name} would, and the receiver believes it`, async () => {
      const { sender, receiver } = await secretsOf(scheme);
      // Twilio signs the hash of a JSON body in the address, which no simulator may change.
      const form = { body: utf8("b=2&a=1"), contentType: "application/x-www-form-urlencoded" };
      const given = name === "twilio" ? { ...request, ...form } : request;
      const signed = await simulate(scheme, sender, given);
      const key = prepareKey(scheme, receiver, name);
      expect(await verify(scheme, [key], { ...given, ...signed }, NOW)).toBeNull();
      if (scheme.timestamp?.toleranceSeconds == null) return;
      const late = NOW + (scheme.timestamp.toleranceSeconds + 1) * 1000;
      expect(await verify(scheme, [key], { ...given, ...signed }, late)).toBe("stale");
    });
  }

  it("keeps what the body has beside a signature of its own (Mailgun), and needs an object", async () => {
    const signed = await simulate(schemes.mailgun, "a long enough secret", request);
    expect(JSON.parse(new TextDecoder().decode(signed.body))).toEqual({
      a: "ü",
      signature: {
        other: 1,
        timestamp: "1700000000",
        token: "m1",
        signature: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      },
    });
    for (const body of ["[]", "x", "null"]) {
      const sent = simulate(schemes.mailgun, "a long enough secret", {
        ...request,
        body: utf8(body),
      });
      await expect(sent).rejects.toThrow("it has to be a JSON object");
    }
  });

  it("says so when a private key is none", async () => {
    for (const [scheme, secret] of [
      [schemes.discord, "00112233"],
      [schemes.discord, "not a key"],
      [schemes.sendgrid, "0".repeat(64)],
      [schemes.sendgrid, ""],
    ] as const) {
      await expect(simulate(scheme, secret, request)).rejects.toThrow("is not a private key for");
    }
  });
});

describe("signPrivately()", () => {
  it("takes an Ed25519 key as 32 or 64 bytes in hexadecimal digits (RFC 8032, test 2)", async () => {
    const seed = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    const own = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    const signature =
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
    for (const key of [seed, seed + own, seed.toUpperCase()])
      expect(toHex(await signPrivately("ed25519", key, Uint8Array.of(0x72)))).toBe(signature);
  });
});

describe("rawToDer()", () => {
  it("is what derToRaw() undoes, for any numbers", () => {
    const number = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.integer({ min: 0, max: 255 }).map((last) => new Uint8Array(32).fill(last, 31)),
      fc.integer({ min: 0, max: 255 }).map((first) => new Uint8Array(32).fill(first, 0, 1)),
    );
    fc.assert(
      fc.property(number, number, (r, s) => {
        const raw = Uint8Array.from([...r, ...s]);
        expect(derToRaw(rawToDer(raw))).toEqual(raw);
      }),
    );
  });
});
