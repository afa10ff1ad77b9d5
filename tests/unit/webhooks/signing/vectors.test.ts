import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { prepareKey, type Key } from "../../../../core/webhooks/signing/keys.ts";
import { publishedKeySchemes } from "../../../../core/webhooks/signing/published-key-schemes.ts";
import { schemes } from "../../../../core/webhooks/signing/schemes.ts";
import { verify } from "../../../../core/webhooks/signing/verify.ts";
import { VECTOR_TIME, vectors, type Vector } from "../../../fakes/webhooks-vectors.ts";

async function check(given: Vector, now = VECTOR_TIME): Promise<string | null> {
  const scheme = schemes[given.scheme];
  const request = {
    method: "POST",
    url: given.url ?? "https://example.com/webhooks/x",
    headers: new Headers(given.headers),
    body: utf8(given.body),
  };
  const key = prepareKey({ ...scheme, minSecretLength: 1 }, given.secret, "test");
  return verify(scheme, [key], request, now);
}

describe("a request signed as the provider does", () => {
  for (const [name, vector] of Object.entries(vectors)) {
    const { scheme } = vector;
    it(`is accepted: ${name}`, async () => {
      expect(await check(vector)).toBeNull();
    });

    // A token signs nothing.
    if (schemes[scheme].algorithm !== "token") {
      it(`is refused with another body: ${name}`, async () => {
        // Of Mailgun's body only the timestamp and the token are signed.
        const body =
          scheme === "mailgun" ? vector.body.replace("tok-1", "tok-2") : `${vector.body} `;
        expect(await check({ ...vector, body })).toBe("mismatch");
      });
    }

    it(`is refused outside of its time: ${name}`, async () => {
      const tolerance = schemes[scheme].timestamp?.toleranceSeconds ?? null;
      const later = (seconds: number): Promise<string | null> =>
        check(vector, VECTOR_TIME + seconds * 1000);
      const limit = tolerance ?? 1_000_000;
      expect([await later(limit), await later(-limit)]).toEqual([null, null]);
      const beyond = tolerance === null ? null : "stale";
      expect([await later(limit + 1), await later(-limit - 1)]).toEqual([beyond, beyond]);
    });
  }

  it("has a vector for every scheme that other tests have none for", () => {
    const elsewhere = ["generic", "github", "stripe", "slack", "standard-webhooks"];
    // Their keys are published: published-keys.test.ts.
    elsewhere.push(...Object.keys(publishedKeySchemes));
    const covered = new Set<string>(Object.values(vectors).map(({ scheme }) => scheme));
    const missing = Object.keys(schemes).filter((name) => !covered.has(name));
    expect(missing.toSorted()).toEqual(elsewhere.toSorted());
  });
});

it("may be signed with any of a DocuSign account's keys, each of which has a header", async () => {
  const { DocuSign: given } = vectors;
  if (given === undefined) throw new Error("No vector");
  const { "x-docusign-signature-1": signature = "" } = given.headers;
  const headers = { "x-docusign-signature-1": "AAAA", "x-docusign-signature-3": signature };
  expect(await check({ ...given, headers })).toBeNull();
  const { "x-docusign-signature-1": only } = headers;
  const other = { ...given, headers: { "x-docusign-signature-1": only } };
  expect(await check(other)).toBe("mismatch");
});

describe("absurd headers", () => {
  /** How many signatures are computed for a header. */
  async function workFor(scheme: "stripe" | "standard-webhooks" | "pagerduty", header: string) {
    let work = 0;
    const key: Key = {
      expires: Number.POSITIVE_INFINITY,
      version: "v1",
      verify() {
        work += 1;
        return Promise.resolve(false);
      },
    };
    const headers = new Headers({
      "stripe-signature": header,
      "x-pagerduty-signature": header,
      "webhook-signature": header,
      "webhook-id": "m",
      "webhook-timestamp": "1700000000",
    });
    const request = { method: "POST", url: "https://a.test/", headers, body: utf8("{}") };
    return { refusal: await verify(schemes[scheme], [key], request, VECTOR_TIME), work };
  }

  it("cost at most sixteen signatures, however many they list", async () => {
    const sixteen = Array.from({ length: 16 }, () => "v1=00");
    expect(await workFor("pagerduty", sixteen.join(","))).toEqual({
      refusal: "mismatch",
      work: 16,
    });
    const refused = { refusal: "malformed", work: 0 };
    expect(await workFor("pagerduty", [...sixteen, "v1=00"].join(","))).toEqual(refused);
    const listed = Array.from({ length: 17 }, () => "v1,AAAA").join(" ");
    expect(await workFor("standard-webhooks", listed)).toEqual(refused);
  });

  it("over 4096 characters are not looked at", async () => {
    for (const header of ["v1=".repeat(20_000), `t=1700000000,v1=${"0".repeat(100_000)}`]) {
      expect(await workFor("stripe", header)).toEqual({ refusal: "malformed", work: 0 });
      expect(await workFor("standard-webhooks", header)).toEqual({ refusal: "malformed", work: 0 });
    }
  });
});
