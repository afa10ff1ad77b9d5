import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { parsePayload } from "../../../../core/webhooks/inbound/record.ts";
import { agents } from "../../../../core/agents/mod.ts";
import { toBase64, toHex, utf8 } from "../../../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../../../core/crypto/hmac.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks } from "../../../../core/webhooks/mod.ts";
import { bodyBudget } from "../../../../core/work/body-budget.ts";
import { SECRET } from "../../../fakes/webhooks-sender.ts";

const secret = SECRET;
let platform: Platform;
let app: Hono;
/** Room for one encoded body, which counts twice. */
const bodies = bodyBudget(25_000);
beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  const sources = {
    any: { scheme: "generic", secret },
    twilio: { scheme: "twilio", secret },
    hubspot: { scheme: "hubspot", secret, entity: { from: "path" } },
  } as const;
  const counted = { ...platform, bodies };
  app.route(
    "/webhooks",
    webhooks({ platform: counted, auth: "off", sources, maxBodyBytes: 10_000 }),
  );
  agents({ platform, auth: "off" });
});
afterAll(() => platform.close());

const hex = async (body: Uint8Array): Promise<string> =>
  `sha256=${toHex(await hmacSign(await hmacKey(secret), body))}`;

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

interface Sent {
  readonly entity: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Record<string, string>;
  /** The bytes that are signed. @default the body */
  readonly signed?: Uint8Array;
}

async function send({ body, entity, headers, signed = body }: Sent): Promise<number> {
  const all = { "x-signature": await hex(signed), ...headers };
  const url = `https://causey.test/webhooks/any/${entity}`;
  const response = await app.fetch(new Request(url, { method: "POST", body, headers: all }));
  await response.body?.cancel();
  return response.status;
}

/** The payload of the newest event of an entity. */
async function payloadOf(entity: string): Promise<unknown> {
  const ref = platform.actors.get("agent:webhook-agent", entity);
  const [event] = (await ref.call("getEvents", 1)) as EventRecord[];
  return JSON.parse(event?.payload ?? "null");
}

describe("a body", () => {
  it("with a content-encoding is decoded, signed before or after it", async () => {
    const text = '{"id":"1","a":"Grüße"}';
    const body = await gzip(text);
    const headers = { "content-encoding": "gzip" };
    expect(await send({ entity: "gzip", body, headers })).toBe(200);
    expect(await payloadOf("gzip")).toEqual({ id: "1", a: "Grüße" });
    const second = await gzip('{"id":"2"}');
    expect(await send({ entity: "gzip", body: second, headers, signed: utf8('{"id":"2"}') })).toBe(
      200,
    );
    expect(await send({ entity: "gzip", body, headers, signed: utf8("other") })).toBe(401);
    expect(await send({ entity: "gzip", body: utf8("{}"), headers })).toBe(400);
    const unknown = { "content-encoding": "made-up" };
    expect(await send({ entity: "gzip", body, headers: unknown })).toBe(400);
    expect(await send({ entity: "gzip", body: await gzip(" ".repeat(20_000)), headers })).toBe(413);
    expect(bodies.used).toBe(0);
  });

  it("with a content-encoding counts as what it may decode to", async () => {
    const others = bodies.hold();
    others.take(10_000);
    const body = await gzip('{"id":"3"}');
    const headers = { "content-encoding": "gzip" };
    expect(await send({ entity: "gzip", body, headers })).toBe(429);
    expect(await send({ entity: "gzip", body: utf8('{"id":"4"}'), headers: {} })).toBe(200);
    others.release();
    expect(await send({ entity: "gzip", body, headers })).toBe(200);
    expect(bodies.used).toBe(0);
  });

  it("in parts has its fields, and of a file its name, type and size", async () => {
    const form = new FormData();
    form.append("id", "m-1");
    form.append("to", "a@example.com");
    form.append("to", "b@example.com");
    form.append("file", new File(["12345"], "n.txt", { type: "text/plain" }));
    const encoded = new Response(form);
    // Bun names the boundary only before the body is read.
    const headers = { "content-type": encoded.headers.get("content-type") ?? "" };
    const body = new Uint8Array(await encoded.arrayBuffer());
    expect(await send({ entity: "parts", body, headers })).toBe(200);
    expect(await payloadOf("parts")).toMatchObject({
      id: "m-1",
      to: ["a@example.com", "b@example.com"],
      file: { name: "n.txt", size: 5 },
    });
    const broken = { "content-type": "multipart/form-data; boundary=x" };
    expect(await send({ entity: "parts", body: utf8("no parts"), headers: broken })).toBe(400);
  });

  it("of XML is one text", async () => {
    for (const type of ["text/xml", "application/xml; charset=utf-8", "application/atom+xml"]) {
      const text = `<a t="${type}">Grüße</a>`;
      const headers = { "content-type": type, "x-event-id": type };
      expect(await send({ entity: "xml", body: utf8(text), headers })).toBe(200);
      expect(await payloadOf("xml")).toBe(text);
    }
    const headers = { "content-type": "text/plain" };
    expect(await send({ entity: "xml", body: utf8("<a/>"), headers })).toBe(400);
  });

  it("is no form of thousands of fields, whatever makes them one", async () => {
    const parts = { "content-type": 'multipart/form-data; boundary="a b"' };
    const part = '--a b\r\nContent-Disposition: form-data; name="id"\r\n\r\n1\r\n';
    const refused = [
      [{ "content-type": "application/x-www-form-urlencoded" }, "&".repeat(2001)],
      [{ "content-type": "multipart/form-data; boundary=b" }, "--b\n".repeat(2001)],
      [{ "content-type": "multipart/form-data" }, part],
      [{ "content-type": "multipart/form-data; boundary=\u00e9" }, part],
    ] as const;
    for (const [headers, text] of refused)
      expect([text.slice(0, 9), await send({ entity: "long", body: utf8(text), headers })]).toEqual(
        [text.slice(0, 9), 400],
      );
    const body = utf8(`${part}--a b--\r\n`);
    expect(await send({ entity: "quoted", body, headers: parts })).toBe(200);
    expect(await payloadOf("quoted")).toEqual({ id: "1" });
  });

  it.each([
    'x="; boundary=other"; boundary=real',
    "boundary=other; boundary=real",
    String.raw`boundary="re\al"`,
  ])("is no form whose fields another boundary than the counted one parts: %s", async (named) => {
    const part = '--real\r\nContent-Disposition: form-data; name="id"\r\n\r\n1\r\n';
    const body = utf8(`${part.repeat(2001)}--real--\r\n`);
    const headers = new Headers({ "content-type": `multipart/form-data; ${named}` });
    await expect(async () => parsePayload(body, headers)).rejects.toMatchObject({
      kind: "payload_invalid",
    });
  });

  it("of a form has a list for a repeated field", async () => {
    const body = utf8("id=f-1&tag=a&tag=b&__proto__=c");
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect(await send({ entity: "form", body, headers })).toBe(200);
    expect(await payloadOf("form")).toEqual(
      JSON.parse('{"id":"f-1","tag":["a","b"],"__proto__":"c"}'),
    );
  });
});

describe("Twilio", () => {
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const sign = async (text: string): Promise<string> =>
    toBase64(await hmacSign(await hmacKey(secret, "SHA-1"), text));
  const call = async (
    url: string,
    signed: string,
    body?: string,
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const headers = {
      ...(body === undefined ? {} : form),
      "x-twilio-signature": await sign(signed),
    };
    const method = body === undefined ? "GET" : "POST";
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    const response = await app.fetch(new Request(url, init));
    return { status: response.status, text: await response.text() };
  };

  it("signs the address with its port and without", async () => {
    const fields = "AccountSidAC1MessageSidSM1";
    const body = "AccountSid=AC1&MessageSid=SM1";
    const [bare, https] = [
      "https://causey.test/webhooks/twilio",
      "https://causey.test:443/webhooks/twilio",
    ];
    const other = "https://causey.test:8443/webhooks/twilio";
    expect((await call(bare, bare + fields, body)).status).toBe(200);
    expect((await call(bare, https + fields, body)).status).toBe(200);
    expect((await call(other, bare + fields, body)).status).toBe(200);
    expect((await call(other, other + fields, body)).status).toBe(200);
    expect((await call(bare, other + fields, body)).status).toBe(401);
    const query = "http://causey.test/webhooks/twilio?q=it's";
    const withPort = "http://causey.test:80/webhooks/twilio?q=it's";
    expect((await call(query, withPort + fields, body)).status).toBe(200);
    expect((await call(query, query + fields, body)).status).toBe(200);
  });

  it("may call by GET, with the parameters in the signed address", async () => {
    const url = "https://causey.test/webhooks/twilio?AccountSid=AC2&CallSid=CA2&Digits=1&Digits=2";
    const { status, text } = await call(url, url);
    expect([status, text]).toEqual([200, "<Response/>"]);
    expect(await payloadOf("ac2")).toEqual({
      AccountSid: "AC2",
      CallSid: "CA2",
      Digits: ["1", "2"],
    });
    expect((await call(`${url}0`, url)).status).toBe(401);
    const head = new Request(url, { method: "HEAD", headers: { "x-twilio-signature": "x" } });
    expect((await app.fetch(head)).status).toBe(405);
    const unsigned = new Request(url.replace("twilio", "any"));
    expect((await app.fetch(unsigned)).status).toBe(405);
  });

  it("sends no form of thousands of fields", async () => {
    const body = Array.from({ length: 2500 }, (_, n) => `${n}=`)
      .join("&")
      .slice(0, 9900);
    const url = "https://causey.test/webhooks/twilio";
    expect((await call(url, url, body)).text).toMatch(/malformed|does not match/);
  });
});

describe("HubSpot", () => {
  it("undoes twelve escapes of the address and no other", async () => {
    const time = String(platform.system.now());
    const escaped = "%3A%2f%3F%40%21%24%27%28%29%2A%2C%3B%20%25%26%3D%C3%BC";
    const url = `https://causey.test/webhooks/hubspot/p1?a=${escaped}`;
    const signed = url.replace(escaped, () => ":/?@!$'()*,;%20%25%26%3D%C3%BC");
    const body = '[{"eventId":1}]';
    const post = async (text: string): Promise<number> => {
      const signature = toBase64(
        await hmacSign(await hmacKey(secret), `POST${text}${body}${time}`),
      );
      const headers = { "x-hubspot-signature-v3": signature, "x-hubspot-request-timestamp": time };
      return (await app.fetch(new Request(url, { method: "POST", body, headers }))).status;
    };
    expect(await post(signed)).toBe(200);
    expect(await post(decodeURIComponent(url))).toBe(401);
  });
});
