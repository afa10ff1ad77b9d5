import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import { toHex } from "../../../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../../../core/crypto/hmac.ts";
import type { Platform, Transport } from "../../../../core/ports.ts";
import { defineScheme, type SourceOptions, webhooks } from "../../../../core/webhooks/mod.ts";
import { shownScheme } from "../../../fakes/webhooks-shown.ts";
import { SECRET } from "../../../fakes/webhooks-sender.ts";

const called: string[] = [];
let answers: number | Error = 200;
const egress: Transport = {
  send({ url }) {
    called.push(url);
    if (typeof answers !== "number") return Promise.reject(answers);
    return Promise.resolve({ status: answers, headers: [], body: null });
  },
};
const confirming = defineScheme({
  signature: ["header:x-signature"],
  handshakes: [
    {
      method: "POST",
      when: { "body:kind": "confirm" },
      confirm: { url: "body:url", host: /^(?:eu|us)\.acme\.example$/ },
      answer: {},
    },
  ],
});

let platform: Platform;
let app: Hono;
const secret = SECRET;
const serve = (sources: Record<string, SourceOptions>): Hono =>
  webhooks({ platform: { ...platform, egress }, auth: "off", sources });

beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  app.route(
    "/webhooks",
    serve({
      acme: { scheme: shownScheme, secret },
      confirming: { scheme: confirming, secret },
    }),
  );
  agents({ platform, auth: "off" });
});
afterAll(() => platform.close());

const sign = async (text: string): Promise<string> =>
  toHex(await hmacSign(await hmacKey(secret), text));

async function post(
  path: string,
  value: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify(value);
  const header = path === "acme" ? "x-acme-signature" : "x-signature";
  const headers = { [header]: await sign(body) };
  const request = new Request(`http://causey.test/webhooks/${path}`, {
    method: "POST",
    body,
    headers,
  });
  const response = await app.fetch(request);
  return { status: response.status, text: await response.text() };
}

describe("a scheme of one's own", () => {
  it("answers the handshakes that it describes", async () => {
    const got = await app.fetch(new Request("http://causey.test/webhooks/acme?check=abc"));
    expect([got.status, await got.json()]).toEqual([200, { proof: await sign("abc") }]);
    expect(await post("acme", { kind: "hello", nonce: "n" })).toEqual({ status: 200, text: "n" });
    expect((await post("acme", { kind: "hello" })).status).toBe(400);
  });

  it.each([
    [{ method: "GET", answer: { text: "path:x" } }, 'Unknown source "path:x"'],
    [{ method: "GET", when: { wrong: true }, answer: {} }, 'Unknown source "wrong"'],
    [
      { method: "GET", answer: { json: { a: { hmac: "x", encoding: "hex" } } } },
      'Unknown source "x"',
    ],
  ])("is refused with a source that is none: %j", (handshake, message) => {
    const scheme = { signature: ["header:x"], handshakes: [handshake] } as never;
    expect(() => defineScheme(scheme)).toThrow(message);
  });

  it("needs the token that its handshake asks for", () => {
    expect(() => serve({ meta: { scheme: "meta", secret } })).toThrow("has no verifyToken");
  });
});

describe("an address of confirmation", () => {
  const confirm = (url: string): Promise<{ readonly status: number; readonly text: string }> =>
    post("confirming", { kind: "confirm", url });

  it("is called, through the guarded transport", async () => {
    expect((await confirm("https://eu.acme.example/c?t=1")).status).toBe(200);
    expect(called.splice(0)).toEqual(["https://eu.acme.example/c?t=1"]);
  });

  it.each([
    "https://acme.example/c",
    "https://eu.acme.example.attacker.test/",
    "http://eu.acme.example/c",
    "https://eu.acme.example:8443/c",
    "https://eu.acme.example@attacker.test/",
    "not an address",
  ])("is refused anywhere else: %s", async (url) => {
    expect((await confirm(url)).status).toBe(400);
    expect(called).toEqual([]);
  });

  it("that fails is a 503, so that the sender tries again", async () => {
    for (const failure of [500, 302, new Error("down")]) {
      answers = failure;
      expect((await confirm("https://us.acme.example/c")).status).toBe(503);
    }
    called.length = 0;
  });
});
