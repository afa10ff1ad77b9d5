import { exportJWK } from "jose/key/export";
import { generateKeyPair } from "jose/key/generate/keypair";
import { SignJWT } from "jose/jwt/sign";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import { readCertificate } from "../../../../core/crypto/certificate.ts";
import { crc32 } from "../../../../core/crypto/crc32.ts";
import { sha256Hex } from "../../../../core/crypto/digest.ts";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import type { Platform } from "../../../../core/ports.ts";
import { defineScheme, verifyWebhook, webhooks } from "../../../../core/webhooks/mod.ts";
import { certificate, publisher, signWithCertificate } from "../../../fakes/webhooks-published.ts";

const topic = "arn:aws:sns:us-east-1:123456789012:orders";
const certUrl =
  "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";
const paypalUrl = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594";
const account = "pusher@project.iam.gserviceaccount.com";
const jwksUrl = "https://www.googleapis.com/oauth2/v3/certs";
const plaidUrl = "https://production.plaid.com/webhook_verification_key/get";

const egress = publisher();
/** Ms that the clock is ahead. */
let ahead = 0;
let platform: Platform;
let app: Hono;

beforeAll(async () => {
  const own = await openPlatform();
  platform = {
    ...own,
    egress,
    system: {
      ...own.system,
      now: () => Date.now() + ahead,
      monotonic: () => performance.now() + ahead,
    },
  };
  egress.texts.set(certUrl, certificate);
  egress.texts.set(paypalUrl, certificate);
  app = new Hono();
  const sources = {
    sns: { scheme: "sns", secret: topic },
    paypal: { scheme: "paypal", secret: "9XL90610J3647323C" },
    google: { scheme: "google-pubsub", secret: account },
    named: { scheme: "google-pubsub", secret: account, audience: "https://elsewhere.example/push" },
    plaid: { scheme: "plaid", secret: "client-1:secret-1" },
    monday: { scheme: "monday", secret: "monday-signing-secret" },
  };
  app.route("/webhooks", webhooks({ platform, auth: "off", sources }));
  agents({ platform, auth: "off" });
});
afterAll(() => platform.close());

async function post(
  source: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const init = { method: "POST", body, headers };
  const response = await app.fetch(new Request(`https://causey.test/webhooks/${source}`, init));
  return { status: response.status, text: await response.text() };
}

const signed = [
  "Message",
  "MessageId",
  "Subject",
  "SubscribeURL",
  "Timestamp",
  "Token",
  "TopicArn",
  "Type",
];

async function sns(
  given: Record<string, string>,
  hash: "SHA-1" | "SHA-256" = "SHA-256",
): Promise<string> {
  const message: Record<string, string> = {
    Type: "Notification",
    MessageId: crypto.randomUUID(),
    TopicArn: topic,
    Message: '{"order":"Grüße"}',
    Timestamp: "2026-11-27T00:00:00.000Z",
    SigningCertURL: certUrl,
    ...given,
  };
  const lines = signed.flatMap((name) => (name in message ? [`${name}\n${message[name]}\n`] : []));
  return JSON.stringify({ ...message, Signature: await signWithCertificate(lines.join(""), hash) });
}

describe("Amazon SNS", () => {
  it("is verified with either version of its signature, and one reading of the certificate", async () => {
    egress.asked.length = 0;
    ahead = 2 * 3_600_000;
    expect((await post("sns", await sns({}))).status).toBe(200);
    expect((await post("sns", await sns({ Subject: "Hi" }, "SHA-1"))).status).toBe(200);
    expect(egress.asked.map(({ url }) => url)).toEqual([certUrl]);
    const other = (await sns({ Subject: "Hi" })).replace("Hi", "Ho");
    expect((await post("sns", other)).status).toBe(401);
  });

  it("confirms a subscription of its topic at its own host, and no other", async () => {
    const url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=t";
    egress.texts.set(url, "<ConfirmSubscriptionResponse/>");
    egress.asked.length = 0;
    const given = { Type: "SubscriptionConfirmation", Token: "t", SubscribeURL: url };
    expect(await post("sns", await sns(given))).toEqual({ status: 200, text: "" });
    expect(egress.asked.map((one) => one.url)).toEqual([url]);
    const away = { ...given, SubscribeURL: "https://sns.us-east-1.amazonaws.com.attacker.test/" };
    expect((await post("sns", await sns(away))).status).toBe(400);
    const stranger = { ...given, TopicArn: `${topic}-of-a-stranger` };
    expect((await post("sns", await sns(stranger))).status).toBe(401);
    expect(egress.asked).toHaveLength(1);
  });

  it.each([
    "https://attacker.test/SimpleNotificationService-0.pem",
    "https://sns.us-east-1.amazonaws.com.attacker.test/a.pem",
    "https://bucket.s3.amazonaws.com/a.pem",
    "http://sns.us-east-1.amazonaws.com/a.pem",
    "https://sns.us-east-1.amazonaws.com@attacker.test/a.pem",
  ])("takes no certificate from %s", async (SigningCertURL) => {
    egress.asked.length = 0;
    egress.texts.set(SigningCertURL, certificate);
    expect((await post("sns", await sns({ SigningCertURL }))).status).toBe(401);
    expect(egress.asked).toEqual([]);
  });

  it("gets 503 while the certificate cannot be read, and is not read without end", async () => {
    egress.asked.length = 0;
    // The certificate that is known has to be read again by now.
    ahead += 2 * 3_600_000;
    const at = (n: number): string => certUrl.replace("abcdef", `ab${n}`);
    egress.texts.set(at(1), "no certificate");
    for (let n = 0; n < 25; n++)
      expect((await post("sns", await sns({ SigningCertURL: at(n) }))).status).toBe(503);
    expect(egress.asked).toHaveLength(20);
    // Strangers who name others do not keep the sender's own out.
    expect((await post("sns", await sns({}))).status).toBe(200);
    expect(egress.asked).toHaveLength(21);
  });

  it("is refused outside of its certificate's time", async () => {
    const before = ahead;
    ahead = -40 * 365 * 86_400_000;
    expect((await post("sns", await sns({}))).status).toBe(401);
    ahead = before;
  });
});

describe("PayPal", () => {
  const body = '{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED"}';
  const headersFor = async (webhook: string, url = paypalUrl): Promise<Record<string, string>> => {
    const time = "2026-11-27T00:00:00Z";
    const text = `t-1|${time}|${webhook}|${crc32(utf8(body))}`;
    return {
      "paypal-transmission-id": "t-1",
      "paypal-transmission-time": time,
      "paypal-cert-url": url,
      "paypal-auth-algo": "SHA256withRSA",
      "paypal-transmission-sig": await signWithCertificate(text),
    };
  };

  it("is verified over the webhook's id and the CRC of the body", async () => {
    const headers = await headersFor("9XL90610J3647323C");
    expect((await post("paypal", body, headers)).status).toBe(200);
    expect((await post("paypal", `${body} `, headers)).status).toBe(401);
    expect((await post("paypal", body, await headersFor("another-webhook"))).status).toBe(401);
    const sandbox = "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1";
    const elsewhere = await headersFor("9XL90610J3647323C", sandbox);
    expect((await post("paypal", body, elsewhere)).status).toBe(401);
  });

  it("counts the CRC-32 of zlib", () => {
    expect(crc32(utf8("123456789"))).toBe(0xcbf43926);
    expect(crc32(new Uint8Array(0))).toBe(0);
  });
});

describe("a JSON Web Token", () => {
  const now = (): number => Math.floor((Date.now() + ahead) / 1000);
  const pushed = '{"message":{"messageId":"1"},"subscription":"projects/p/subscriptions/s"}';

  it("of Google Pub/Sub is its service account's, for this address", async () => {
    const { privateKey, publicKey } = await generateKeyPair("RS256");
    const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "RS256" };
    egress.texts.set(jwksUrl, JSON.stringify({ keys: [jwk] }));
    const token = (claims: Record<string, unknown>): Promise<string> =>
      new SignJWT({
        iss: "https://accounts.google.com",
        aud: "https://causey.test/webhooks/google",
        email: account,
        email_verified: true,
        exp: now() + 600,
        ...claims,
      })
        .setProtectedHeader({ alg: "RS256", kid: "k1" })
        .sign(privateKey);
    const send = async (claims: Record<string, unknown>, source = "google"): Promise<number> => {
      const authorization = `Bearer ${await token(claims)}`;
      return (await post(source, pushed, { authorization })).status;
    };
    expect(await send({})).toBe(200);
    expect(await send({ aud: "https://elsewhere.example/push" }, "named")).toBe(200);
    const wrong = [
      { email: "stranger@project.iam.gserviceaccount.com" },
      { email_verified: false },
      { aud: "https://elsewhere.example/push" },
      { iss: "https://stranger.example" },
      { exp: now() - 600 },
      { exp: undefined },
    ];
    for (const claims of wrong) expect([claims, await send(claims)]).toEqual([claims, 401]);
    expect((await post("google", pushed, { authorization: "Bearer no.token" })).status).toBe(401);
  });

  it("of Plaid has the hash of the body, with a key that is asked for once", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    const jwk = {
      ...(await exportJWK(publicKey)),
      kid: "6c5516e1",
      alg: "ES256",
      expired_at: null,
    };
    egress.texts.set(plaidUrl, JSON.stringify({ key: jwk, request_id: "r" }));
    egress.asked.length = 0;
    const body = '{"webhook_type":"ITEM","item_id":"i-1"}';
    const token = async (text: string, iat: number): Promise<string> =>
      new SignJWT({ request_body_sha256: await sha256Hex(text), iat })
        .setProtectedHeader({ alg: "ES256", kid: "6c5516e1", typ: "JWT" })
        .sign(privateKey);
    const send = async (text: string, iat = now()): Promise<number> =>
      (await post("plaid", body, { "plaid-verification": await token(text, iat) })).status;
    expect(await send(body)).toBe(200);
    expect(await send(`${body} `)).toBe(401);
    expect(await send(body, now() - 400)).toBe(401);
    expect(
      egress.asked.map(({ body: asked }) => new TextDecoder().decode(asked as Uint8Array)),
    ).toEqual(['{"client_id":"client-1","secret":"secret-1","key_id":"6c5516e1"}']);
  });

  it("of monday.com is signed with the secret; its challenge is answered unsigned", async () => {
    const token = (aud: string, secret = "monday-signing-secret"): Promise<string> =>
      new SignJWT({ accountId: 1, aud, exp: now() + 300 })
        .setProtectedHeader({ alg: "HS256" })
        .sign(utf8(secret));
    const body = '{"event":{"type":"create_pulse","boardId":71,"triggerUuid":"u-1"}}';
    const send = async (authorization: string): Promise<number> =>
      (await post("monday", body, { authorization })).status;
    expect(await send(await token("https://causey.test/webhooks/monday"))).toBe(200);
    expect(await send(await token("https://causey.test/other"))).toBe(401);
    const forged = await token("https://causey.test/webhooks/monday", "another-signing-secret");
    expect(await send(forged)).toBe(401);
    const challenge = await post("monday", '{"challenge":"c-1"}');
    expect(challenge).toEqual({ status: 200, text: '{"challenge":"c-1"}' });
  });

  it("is never believed with another algorithm than the scheme's", async () => {
    const unsigned = (alg: string): string =>
      `${btoa(JSON.stringify({ alg }))}.${btoa(JSON.stringify({ exp: now() + 60 }))}.`.replaceAll(
        "=",
        "",
      );
    for (const alg of ["none", "RS256", "HS512"])
      expect((await post("monday", "{}", { authorization: unsigned(alg) })).status).toBe(401);
  });
});

describe("a scheme of published keys", () => {
  it("needs a platform, and what it reads", async () => {
    const request = new Request("https://causey.test/", { method: "POST", body: "{}" });
    const alone = verifyWebhook(request, { scheme: "sns", secret: topic, now: 0 });
    await expect(alone).rejects.toThrow("which only webhooks() reads");
    const given = { signature: ["header:x"] as const };
    expect(() => defineScheme({ ...given, algorithm: "jwt" })).toThrow("belong together");
    expect(() => defineScheme({ ...given, algorithm: "rsa-certificate" })).toThrow(
      "belong together",
    );
    const sources = { plaid: { scheme: "plaid", secret: "no-credentials" } };
    expect(() => webhooks({ platform, auth: "off", sources })).toThrow("client_id:secret");
  });
});

describe("readCertificate()", () => {
  it("reads the key and the time, and nothing malformed", () => {
    const found = readCertificate(certificate);
    expect(found?.spki.length).toBe(294);
    expect(new Date(found?.notBefore ?? 0).getUTCFullYear()).toBe(2026);
    expect(new Date(found?.notAfter ?? 0).getUTCFullYear()).toBe(2126);
    const [head = "", ...rest] = certificate.split("\n");
    const broken = ["", "x", certificate.slice(0, 400), [head, ...rest.slice(1)].join("\n")];
    for (const text of broken) expect(readCertificate(text)).toBeNull();
  });

  it("never throws, whatever byte is changed", () => {
    const lines = certificate.trim().split("\n");
    const der = atob(lines.slice(1, -1).join(""));
    for (let at = 0; at < der.length; at++) {
      const changed = `${der.slice(0, at)}\u00ff${der.slice(at + 1)}`;
      readCertificate(`${lines[0]}\n${btoa(changed)}\n${lines.at(-1)}`);
    }
  });
});
