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
      meta: { scheme: "meta", secret, verifyToken: "a token to verify" },
      notion: { scheme: "notion", secret },
      asana: { scheme: "asana", secret, entity: { from: "path" } },
      graph: { scheme: "microsoft-graph", secret },
      intercom: { scheme: "intercom", secret },
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

describe("a known sender", () => {
  const ask = async (
    method: string,
    path: string,
    body?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<readonly [number, string]> => {
    const init = { method, ...(body === undefined ? {} : { body }), ...(headers && { headers }) };
    const response = await app.fetch(new Request(`http://causey.test/webhooks/${path}`, init));
    return [response.status, await response.text()];
  };

  it("is confirmed with the verify token alone", async () => {
    const subscribe = "meta?hub.mode=subscribe&hub.challenge=c-1&hub.verify_token=";
    expect(await ask("GET", `${subscribe}a%20token%20to%20verify`)).toEqual([200, "c-1"]);
    expect((await ask("GET", `${subscribe}wrong`))[0]).toBe(401);
  });

  it("may test its receiver by HEAD", async () => {
    expect((await ask("HEAD", "intercom"))[0]).toBe(200);
  });

  it("tests by a short unsigned body: a longer one is not parsed", async () => {
    const test = (more: string): string => JSON.stringify({ verification_token: "x", more });
    expect(await ask("POST", "notion", test(""))).toEqual([200, ""]);
    expect((await ask("POST", "notion", test("y".repeat(5000))))[0]).toBe(401);
  });

  it("shows that it is there by a signed list of no events", async () => {
    const asana = async (body: string): Promise<readonly [number, string]> =>
      ask("POST", "asana/p2", body, { "x-hook-signature": await sign(body) });
    expect(await asana('{"events":[]}')).toEqual([200, ""]);
    const [, stored] = await asana('{"events":[{"action":"changed","resource":{}}]}');
    expect(JSON.parse(stored)).toMatchObject({ result: { entity: "p2" } });
  });

  it("knows the state of each notification of a list", async () => {
    const one = (id: string, clientState: string): object => ({
      id,
      clientState,
      subscriptionId: id,
    });
    const graph = (...states: readonly string[]): Promise<readonly [number, string]> =>
      ask("POST", "graph", JSON.stringify({ value: states.map((state, n) => one(`${n}`, state)) }));
    expect((await graph(secret, secret))[0]).toBeLessThan(300);
    expect((await graph(secret, "the state of a stranger"))[0]).toBe(401);
  });
});
