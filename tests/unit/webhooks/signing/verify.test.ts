import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { utf8, toHex, toBase64 } from "../../../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../../../core/crypto/hmac.ts";
import { prepareKey } from "../../../../core/webhooks/signing/keys.ts";
import { defineScheme, type Scheme } from "../../../../core/webhooks/signing/scheme.ts";
import { schemes } from "../../../../core/webhooks/signing/schemes.ts";
import { signLike } from "../../../../core/webhooks/signing/sign.ts";
import { verify } from "../../../../core/webhooks/signing/verify.ts";

interface Case {
  readonly scheme: Scheme;
  readonly secret: string;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
  /** Unix seconds. */
  readonly at?: number;
  readonly url?: string;
  readonly method?: string;
}

async function check(given: Case, now: number = (given.at ?? 0) * 1000): Promise<string | null> {
  const {
    scheme,
    secret,
    headers,
    body,
    url = "https://example.com/webhooks/x",
    method = "POST",
  } = given;
  const key = prepareKey({ ...scheme, minSecretLength: 1 }, secret, "test");
  const bytes = typeof body === "string" ? utf8(body) : body;
  return verify(scheme, [key], { method, url, headers: new Headers(headers), body: bytes }, now);
}

const slackBody =
  "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";

/** The public vectors of the providers' documents and libraries. */
const vectors: Record<string, Case> = {
  github: {
    scheme: schemes.github,
    secret: "It's a Secret to Everybody",
    body: "Hello, World!",
    headers: {
      "x-hub-signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
  },
  generic: {
    scheme: schemes.generic,
    secret: "It's a Secret to Everybody",
    body: "Hello, World!",
    headers: {
      "x-signature": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
  },
  stripe: {
    scheme: schemes.stripe,
    secret: "whsec_test",
    body: '{"id":"evt_1"}',
    at: 1_700_000_000,
    headers: {
      "stripe-signature":
        "t=1700000000,v1=c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925,v0=00",
    },
  },
  "standard-webhooks": {
    scheme: schemes["standard-webhooks"],
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    body: '{"test": 2432232314}',
    at: 1_614_265_330,
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
  },
  svix: {
    scheme: schemes.svix,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    body: '{"test": 2432232314}',
    at: 1_614_265_330,
    headers: {
      "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "svix-timestamp": "1614265330",
      "svix-signature": "v2,xx v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
  },
  twilio: {
    scheme: schemes.twilio,
    secret: "12345",
    url: "https://mycompany.com/myapp.php?foo=1&bar=2",
    body: "Digits=1234&CallSid=CA1234567890ABCDE&To=%2B18005551212&Caller=%2B14158675309&From=%2B14158675309",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
    },
  },
  slack: {
    scheme: schemes.slack,
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    body: slackBody,
    at: 1_531_420_618,
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
  },
};

describe("verify() accepts the provider's public vector", () => {
  for (const [name, vector] of Object.entries(vectors)) {
    it(name, async () => {
      expect(await check(vector)).toBeNull();
    });
  }
});

describe("verify() refuses", () => {
  for (const [name, vector] of Object.entries(vectors)) {
    it(`${name} with another secret, another body, or no signature`, async () => {
      const another = vector.secret.startsWith("whsec_M")
        ? "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        : `${vector.secret}x`;
      expect(await check({ ...vector, secret: another })).toBe("mismatch");
      expect(await check({ ...vector, body: `${String(vector.body)} ` })).toBe("mismatch");
      expect(await check({ ...vector, headers: {} })).toBe("missing");
    });
  }

  it("upper-case hex, a wrong prefix, odd digits, and two joined headers as malformed", async () => {
    const value = vectors["github"]!.headers["x-hub-signature-256"]!;
    const bad = [
      value.toUpperCase(),
      value.slice(7),
      value.slice(0, -1),
      `${value}, ${value}`,
      "sha256=",
      "sha1=00",
    ];
    for (const signature of bad) {
      const headers = { "x-hub-signature-256": signature };
      expect(await check({ ...vectors["github"]!, headers })).toBe("malformed");
    }
  });

  it("a repeated or non-integer timestamp", async () => {
    const v1 = "v1=c89214b5b5da833daed6f0b8c5bb6bd58cea9022bd80ccc78230f3942d632925";
    for (const t of [
      "t=1700000000,t=1700000000",
      "t=1700000000.0",
      "t=01700000000",
      "t=-1",
      "t= 1700000000",
      "t=",
    ]) {
      const headers = { "stripe-signature": `${t},${v1}` };
      expect(await check({ ...vectors["stripe"]!, headers })).toBe("malformed");
    }
  });

  it("more signatures than it is willing to check", async () => {
    const headers = { "stripe-signature": `t=1700000000${",v1=00".repeat(17)}` };
    expect(await check({ ...vectors["stripe"]!, headers })).toBe("malformed");
  });

  it("a timestamp one second outside the tolerance, past and future, but not on its bound", async () => {
    const stripe = vectors["stripe"]!;
    const at = (stripe.at ?? 0) * 1000;
    expect(await check(stripe, at + 300_000)).toBeNull();
    expect(await check(stripe, at - 300_000)).toBeNull();
    expect(await check(stripe, at + 301_000)).toBe("stale");
    expect(await check(stripe, at - 301_000)).toBe("stale");
  });

  it("a Twilio JSON body whose hash is not in the signed URL", async () => {
    const url = "https://mycompany.com/hook?bodySHA256=00";
    const key = await hmacKey("12345678", "SHA-1");
    const headers = { "x-twilio-signature": toBase64(await hmacSign(key, url)) };
    expect(
      await check({ scheme: schemes.twilio, secret: "12345678", url, headers, body: "{}" }),
    ).toBe("mismatch");
  });
});

describe("verify() with several secrets", () => {
  const secrets = ["first secret", "second secret"];
  const body = utf8("{}");

  it("matches any live one and never an expired one", async () => {
    const scheme = schemes.generic;
    const old = prepareKey(scheme, { secret: "first secret", expiresAt: 1000 }, "test");
    const fresh = prepareKey(scheme, "second secret", "test");
    for (const secret of secrets) {
      const signature = `sha256=${toHex(await hmacSign(await hmacKey(secret), body))}`;
      const request = {
        method: "POST",
        url: "https://x.test/",
        headers: new Headers({ "x-signature": signature }),
        body,
      };
      expect(await verify(scheme, [old, fresh], request, 999)).toBeNull();
      const expected = secret === "first secret" ? "mismatch" : null;
      expect(await verify(scheme, [old, fresh], request, 1000)).toBe(expected);
    }
  });
});

describe("prepareKey()", () => {
  it("refuses an empty, blank, short or undecodable secret", () => {
    for (const secret of ["", "        ", "short"]) {
      expect(() => prepareKey(schemes.generic, secret, "test")).toThrow(TypeError);
    }
    expect(() => prepareKey(schemes["standard-webhooks"], "whsec_!!!!!!!!!!!!", "test")).toThrow(
      TypeError,
    );
    expect(() => prepareKey(schemes.discord, "00112233", "test")).toThrow(TypeError);
    expect(() =>
      prepareKey(schemes.generic, { secret: "long enough", expiresAt: "soon" }, "t"),
    ).toThrow(TypeError);
  });
});

describe("asymmetric schemes", () => {
  it("verify a Discord ed25519 signature", async () => {
    const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
    const secret = toHex(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
    const body = '{"type":1}';
    const signature = await crypto.subtle.sign(
      "Ed25519",
      pair.privateKey,
      utf8(`1700000000${body}`),
    );
    const headers = {
      "x-signature-ed25519": toHex(new Uint8Array(signature)),
      "x-signature-timestamp": "1700000000",
    };
    expect(await check({ scheme: schemes.discord, secret, headers, body })).toBeNull();
    expect(await check({ scheme: schemes.discord, secret, headers, body: '{"type":2}' })).toBe(
      "mismatch",
    );
  });

  it("verify a SendGrid ECDSA signature in DER, whatever its leading bytes", async () => {
    const parameters = { name: "ECDSA", namedCurve: "P-256" };
    const pair = await crypto.subtle.generateKey(parameters, true, ["sign", "verify"]);
    const secret = toBase64(new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey)));
    for (let i = 0; i < 40; i++) {
      const body = `[{"n":${i}}]`;
      const algorithm = { name: "ECDSA", hash: "SHA-256" };
      const raw = new Uint8Array(
        await crypto.subtle.sign(algorithm, pair.privateKey, utf8(`1700000000${body}`)),
      );
      const headers = {
        "x-twilio-email-event-webhook-signature": toBase64(toDer(raw)),
        "x-twilio-email-event-webhook-timestamp": "1700000000",
      };
      expect(await check({ scheme: schemes.sendgrid, secret, headers, body })).toBeNull();
    }
  });
});

describe("properties", () => {
  it("a signed body verifies, and one flipped bit in it does not, for any bytes", async () => {
    const key = await hmacKey("a long secret");
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.nat(),
        async (body, position) => {
          const signature = `sha256=${toHex(await hmacSign(key, body))}`;
          const given = {
            scheme: schemes.generic,
            secret: "a long secret",
            headers: { "x-signature": signature },
          };
          expect(await check({ ...given, body })).toBeNull();
          const flipped = body.slice();
          flipped[position % body.length]! ^= 1 << (position % 8);
          expect(await check({ ...given, body: flipped })).toBe("mismatch");
        },
      ),
      { numRuns: 50 },
    );
  });

  it("any header text is a refusal, never a throw, in every scheme", async () => {
    const secrets: Record<string, string> = {
      hex: "00".repeat(32),
      whsec: `whsec_${"A".repeat(32)}`,
    };
    const text = fc
      .string({ maxLength: 80 })
      .map((value) => value.replaceAll(/[^\x20-\x7e]/g, "?"));
    for (const [name, scheme] of Object.entries(schemes)) {
      if (scheme.secretForm === "spki" || scheme.algorithm === "ed25519") continue;
      // malformed.test.ts has those of published keys.
      if (scheme.algorithm === "rsa-certificate" || scheme.algorithm === "jwt") continue;
      await fc.assert(
        fc.asyncProperty(
          text,
          text,
          fc.uint8Array({ maxLength: 40 }),
          async (value, time, body) => {
            const headers: Record<string, string> = {};
            for (const source of scheme.signature)
              headers[source.slice(source.indexOf(":") + 1)] = value;
            if (scheme.timestamp !== undefined)
              headers[scheme.timestamp.source.split(":")[1]!] = time;
            const secret = secrets[scheme.secretForm] ?? "a long secret";
            expect(await check({ scheme, secret, headers, body }), name).not.toBeNull();
          },
        ),
        { numRuns: 30 },
      );
    }
  });
});

describe("signLike()", () => {
  const imitable = Object.entries(schemes).filter(
    ([, { algorithm, signature }]) =>
      !/^(ed25519|ecdsa|rsa|jwt)/.test(algorithm) && signature[0]?.startsWith("header:"),
  );
  for (const [name, scheme] of imitable) {
    it(`signs as ${name} does, and verify() agrees`, async () => {
      const secret =
        scheme.secretForm === "whsec" ? `whsec_${"A".repeat(32)}` : "a long enough secret";
      const now = 1_700_000_000_000;
      const json = utf8(JSON.stringify({ a: "ü", webhookTimestamp: now }));
      const form = name === "twilio" ? utf8("b=2&a=1&a=0&a=1") : json;
      const contentType =
        name === "twilio" ? "application/x-www-form-urlencoded" : "application/json";
      const request = {
        method: "POST",
        url: "https://hooks.test/a%20b?c=d",
        body: form,
        contentType,
        id: "m1",
        now,
      };
      const headers = await signLike(scheme, secret, request);
      const key = prepareKey(scheme, secret, "test");
      expect(await verify(scheme, [key], { ...request, headers }, now)).toBeNull();
      const other = { ...request, headers, body: utf8("[]") };
      if (scheme.algorithm !== "token")
        expect(await verify(scheme, [key], other, now)).not.toBeNull();
    });
  }
});

describe("defineScheme()", () => {
  it("refuses a template with unknown or unsourced parts", () => {
    const signature = ["header:x-sig"] as const;
    expect(() => defineScheme({ signature, content: "{nothing}" })).toThrow(TypeError);
    expect(() => defineScheme({ signature, content: "{timestamp}.{body}" })).toThrow(TypeError);
    expect(() => defineScheme({ signature: [] })).toThrow(TypeError);
    expect(defineScheme({ signature }).algorithm).toBe("hmac-sha-256");
  });
});

function toDer(raw: Uint8Array): Uint8Array {
  const integer = (bytes: Uint8Array): number[] => {
    let start = 0;
    while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
    const trimmed = [...bytes.subarray(start)];
    if (trimmed[0]! >= 0x80) trimmed.unshift(0);
    return [0x02, trimmed.length, ...trimmed];
  };
  const body = [...integer(raw.subarray(0, 32)), ...integer(raw.subarray(32))];
  return Uint8Array.from([0x30, body.length, ...body]);
}
