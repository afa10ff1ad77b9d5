import { describe, expect, it } from "vitest";
import {
  schemes,
  signLike,
  verifyWebhook,
  type VerifyWebhookOptions,
} from "../../../../core/webhooks/mod.ts";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { VECTOR_TIME, vectors, type Vector } from "../../../fakes/webhooks-vectors.ts";

const SECRET = "the secret of a webhook source";

function requestOf({ url = "https://example.com/webhooks/x", headers, body }: Vector): Request {
  return new Request(url, { method: "POST", headers, body });
}

/** The vectors' secrets are the SDKs' own examples, some shorter than what a source may have. */
const optionsOf = ({ scheme, secret }: Vector): VerifyWebhookOptions => ({
  scheme: { ...schemes[scheme], minSecretLength: 1 },
  secret,
  now: VECTOR_TIME,
});

describe("verifyWebhook()", () => {
  it.each(Object.entries(vectors))("hands on the raw body of %s", async (_, vector) => {
    const verdict = await verifyWebhook(requestOf(vector), optionsOf(vector));
    expect(verdict).toEqual({ valid: true, body: utf8(vector.body) });
  });

  it.each(Object.entries(vectors))("refuses %s with another secret or none", async (_, vector) => {
    const { signature } = schemes[vector.scheme];
    const name = (signature[0] ?? "").replace("header:", "");
    if (signature[0]?.startsWith("header:") === true) {
      const { [name]: _signature, ...headers } = vector.headers;
      const bare = requestOf({ ...vector, headers });
      expect(await verifyWebhook(bare, optionsOf(vector))).toMatchObject({ valid: false });
    }
    const { algorithm, secretForm } = schemes[vector.scheme];
    if (secretForm !== undefined || algorithm.startsWith("e")) return;
    const options = { ...optionsOf(vector), secret: `${vector.secret}x` };
    expect(await verifyWebhook(requestOf(vector), options)).toEqual({
      valid: false,
      reason: "mismatch",
    });
  });

  const github = async (): Promise<Request> => {
    const url = "https://example.com/x";
    const headers = await signLike(schemes.github, SECRET, {
      method: "POST",
      url,
      body: utf8("{}"),
      contentType: "application/json",
      id: "1",
      now: VECTOR_TIME,
    });
    return new Request(url, { method: "POST", headers, body: "{}" });
  };

  it("needs no time where nothing ends", async () => {
    const verdict = await verifyWebhook(await github(), { scheme: "github", secret: SECRET });
    expect(verdict.valid).toBe(true);
  });

  it("asks for the time where a signature or a secret ends", async () => {
    const request = await github();
    await expect(verifyWebhook(request, { scheme: "stripe", secret: SECRET })).rejects.toThrow(
      "pass the time as now",
    );
    const secrets = [{ secret: SECRET, expiresAt: VECTOR_TIME }];
    await expect(verifyWebhook(request, { scheme: "github", secrets })).rejects.toThrow(
      "pass the time as now",
    );
    const late = await verifyWebhook(request, { scheme: "github", secrets, now: VECTOR_TIME });
    expect(late).toEqual({ valid: false, reason: "mismatch" });
  });

  it("takes any of several secrets, and a signed address that a proxy has changed", async () => {
    const secrets = ["another secret, of before", SECRET];
    expect((await verifyWebhook(await github(), { scheme: "github", secrets })).valid).toBe(true);
    const vector = vectors["Twilio's SDK, a form with a repeated name"];
    if (vector === undefined) throw new Error("No such vector");
    const inner = requestOf({ ...vector, url: "http://127.0.0.1:3000/x" });
    const { url = "https://example.com/webhooks/x" } = vector;
    expect((await verifyWebhook(inner, { ...optionsOf(vector), url })).valid).toBe(true);
  });

  it("refuses options that cannot be right, and bodies over the limit", async () => {
    const attempt = async (options: VerifyWebhookOptions): Promise<unknown> =>
      verifyWebhook(await github(), options);
    await expect(attempt({ scheme: "github" })).rejects.toThrow("no secret");
    await expect(attempt({ scheme: "github", secret: "short" })).rejects.toThrow("shorter");
    await expect(attempt({ scheme: "guthib", secret: SECRET })).rejects.toThrow("unknown scheme");
    await expect(
      attempt({ scheme: "github", secret: SECRET, maxBodyBytes: 1 }),
    ).rejects.toMatchObject({ kind: "too_large" });
  });
});
