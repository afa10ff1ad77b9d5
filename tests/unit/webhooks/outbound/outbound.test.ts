import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import type { Platform } from "../../../../core/ports.ts";
import { prepareKey } from "../../../../core/webhooks/signing/keys.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";
import {
  judge,
  STANDARD_SCHEDULE,
  type AttemptResult,
} from "../../../../core/webhooks/outbound/retry-policy.ts";
import { delayAfter } from "../../../../core/work/backoff.ts";
import { schemes, type SchemeName } from "../../../../core/webhooks/signing/schemes.ts";
import { verify } from "../../../../core/webhooks/signing/verify.ts";
import { receiver, type Received } from "../../../fakes/webhooks-receiver.ts";

const egress = receiver();
let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = webhooksManagement({ platform: { ...platform, egress }, auth: "off", sources: {} });
});
afterAll(() => platform.close());

interface Answer<T> {
  readonly status: number;
  readonly result: T;
}

async function api<T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const response = await app.fetch(
    new Request(`http://causey.test/accounts/local/webhooks${path}`, init),
  );
  const { result } = (await response.json()) as { result: T };
  return { status: response.status, result };
}

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly due: number;
  readonly last_error: string | null;
}

async function endpoint(
  url: string,
  more: Record<string, unknown> = {},
): Promise<{ id: string; secret: string }> {
  // Events of one test must not reach the endpoints of another.
  const types = [`only.${url}`];
  return (await api<{ id: string; secret: string }>("POST", "/endpoints", { url, types, ...more }))
    .result;
}

async function send(url: string, payload: unknown = { a: 1 }): Promise<string> {
  const { status, result } = await api<{ id: string }>("POST", "/send", {
    type: `only.${url}`,
    payload,
  });
  expect(status).toBe(202);
  return result.id;
}

async function settled(id: string, status: string): Promise<Delivery> {
  for (;;) {
    const { result } = await api<Delivery[]>(
      "GET",
      `/deliveries?endpoint_id=${id}&status=${status}`,
    );
    if (result[0] !== undefined && (status !== "pending" || result[0].attempts > 0)) {
      if (status !== "pending" || result[0].last_error !== null) return result[0];
    }
    await platform.system.sleep(5);
  }
}

async function check(
  name: SchemeName,
  secret: string,
  { headers, body, url }: Received,
): Promise<string | null> {
  const request = { method: "POST", url, headers, body: utf8(body) };
  return verify(
    schemes[name],
    [prepareKey(schemes[name], secret, "test")],
    request,
    platform.system.now(),
  );
}

describe("an outbound webhook", () => {
  it("is signed as Standard Webhooks and as X-Signature, over exactly the bytes that are sent", async () => {
    const url = "https://receiver.test/signed";
    const { id, secret } = await endpoint(url);
    const message = await send(url, { hello: "wörld" });
    await settled(id, "delivered");
    const got = egress.received.find((one) => one.url === url)!;
    expect(got.body).toBe('{"hello":"wörld"}');
    expect(got.headers.get("content-type")).toBe("application/json");
    expect(got.headers.get("webhook-id")).toBe(message);
    expect(await check("standard-webhooks", secret, got)).toBeNull();
    expect(await check("generic", secret, got)).toBeNull();
  });

  it("to a chat service has one field, text, and no signature", async () => {
    const url = "https://receiver.test/chat";
    const { id } = await endpoint(url, { format: "chat" });
    await send(url, { text: "Deployed", other: 1 });
    await settled(id, "delivered");
    const got = egress.received.find((one) => one.url === url)!;
    expect(got.body).toBe('{"text":"Deployed"}');
    expect(got.headers.has("x-signature")).toBe(false);
  });

  for (const [answer, error] of [
    [500, "The endpoint answered 500"],
    [302, "The endpoint answered 302"],
    ["unreachable", "It is unreachable"],
  ] as const) {
    it(`answered ${answer} is a failure that is kept for the next attempt`, async () => {
      const url = `https://receiver.test/fails-${answer}`;
      egress.answer(url, answer);
      const { id } = await endpoint(url);
      await send(url);
      const pending = await settled(id, "pending");
      expect([pending.attempts, pending.last_error]).toEqual([1, error]);
      const wait = pending.due - platform.system.now();
      expect(wait).toBeLessThanOrEqual(6000);
    });
  }

  it("to an address that must not be called is dead at once, and can be replayed", async () => {
    const url = "https://receiver.test/refused";
    egress.answer(url, "refused", 200);
    const { id } = await endpoint(url);
    await send(url);
    const dead = await settled(id, "dead");
    expect((await api("POST", `/deliveries/${dead.id}/replay`)).status).toBe(202);
    const delivered = await settled(id, "delivered");
    expect(delivered.id).not.toBe(dead.id);
    const { result } = await api<{ type: string; payload: string; log: object[] }>(
      "GET",
      `/deliveries/${delivered.id}`,
    );
    expect(typeof result.type).toBe("string");
    expect(() => JSON.parse(result.payload) as unknown).not.toThrow();
    expect(result.log).toMatchObject([{ attempt: 1, status: 200, body: "answer body" }]);
  });

  it("answered 410 switches its endpoint off", async () => {
    const url = "https://receiver.test/gone";
    egress.answer(url, 410);
    const { id } = await endpoint(url);
    await send(url);
    await settled(id, "dead");
    const { result } = await api("GET", `/endpoints/${id}`);
    expect(result).toMatchObject({
      enabled: false,
      disabled_reason: "The endpoint answered 410 Gone",
    });
    await send(url);
    expect(egress.received.filter((one) => one.url === url)).toHaveLength(1);
  });

  it("of one idempotency key is sent once", async () => {
    const url = "https://receiver.test/once";
    const { id } = await endpoint(url);
    const body = { type: `only.${url}`, payload: {}, idempotency_key: "k" };
    const answers = await Promise.all(
      [1, 2, 3].map(() => api<{ id: string; duplicate: boolean }>("POST", "/send", body)),
    );
    expect(new Set(answers.map(({ result }) => result.id)).size).toBe(1);
    expect(answers.filter(({ result }) => result.duplicate)).toHaveLength(2);
    await settled(id, "delivered");
    expect(egress.received.filter((one) => one.url === url)).toHaveLength(1);
  });

  it("keeps an encoded answer decoded, and delivers whatever the answer's bytes are", async () => {
    const zipped = new Blob(["seen"]).stream().pipeThrough(new CompressionStream("gzip"));
    const body = new Uint8Array(await new Response(zipped).arrayBuffer());
    const headers: [string, string][] = [["content-encoding", "gzip"]];
    for (const [name, bytes, kept] of [
      ["gzip", body, "seen"],
      ["broken", body.slice(4), ""],
    ] as const) {
      const url = `https://receiver.test/${name}`;
      const { id } = await endpoint(url);
      egress.answer(url, { status: 200, headers, body: bytes });
      await send(url);
      const delivery = await settled(id, "delivered");
      const { result } = await api<{ attempts: { body: string }[] }>(
        "GET",
        `/deliveries/${delivery.id}`,
      );
      expect(JSON.stringify(result)).toContain(`"${kept}"`);
    }
  });

  it("of a key that another message has is refused", async () => {
    const body = { type: "keyed", payload: { n: 1.0 }, idempotency_key: "k-409" };
    const first = await api<{ id: string }>("POST", "/send", body);
    for (const other of [{ payload: { n: 2 } }, { type: "other" }, { entity: "e" }])
      expect((await api("POST", "/send", { ...body, ...other })).status).toBe(409);
    const again = await api<{ id: string; duplicate: boolean }>("POST", "/send", body);
    expect(again.result).toMatchObject({ id: first.result.id, duplicate: true });
  });

  it("goes only to endpoints that take its type", async () => {
    const { result } = await api<{ deliveries: number }>("POST", "/send", {
      type: "nobody.wants",
      payload: {},
    });
    expect(result.deliveries).toBe(0);
  });
});

describe("an endpoint", () => {
  it("shows its secret at creation and at rotation only; old and new both sign", async () => {
    const url = "https://receiver.test/rotated";
    const { id, secret } = await endpoint(url);
    expect(secret).toMatch(/^whsec_/);
    const rotated = (await api<{ secret: string }>("POST", `/endpoints/${id}/rotate`)).result
      .secret;
    for (const path of ["/endpoints", `/endpoints/${id}`]) {
      const text = JSON.stringify((await api("GET", path)).result);
      expect([text.includes(secret), text.includes(rotated), text.includes("sealed")]).toEqual([
        false,
        false,
        false,
      ]);
    }
    await send(url);
    await settled(id, "delivered");
    const got = egress.received.find((one) => one.url === url)!;
    expect(await check("standard-webhooks", secret, got)).toBeNull();
    expect(await check("standard-webhooks", rotated, got)).toBeNull();
  });

  it("keeps its pending deliveries through being disabled and enabled", async () => {
    const url = "https://receiver.test/paused";
    egress.answer(url, { status: 503, headers: [["retry-after", "0"]] }, 200);
    const { id } = await endpoint(url);
    await send(url);
    const { due } = await settled(id, "pending");
    await api("PATCH", `/endpoints/${id}`, { enabled: false });
    await api("PATCH", `/endpoints/${id}`, { enabled: true });
    const pending = await settled(id, "pending");
    expect([pending.due, pending.attempts]).toEqual([due, 1]);
    const { result } = await api("GET", `/endpoints/${id}`);
    expect(result).toMatchObject({ enabled: true, disabled_reason: null });
  });

  it("that is deleted ends its pending deliveries", async () => {
    const url = "https://receiver.test/deleted";
    egress.answer(url, 500);
    const { id } = await endpoint(url);
    await send(url);
    await settled(id, "pending");
    expect((await api("DELETE", `/endpoints/${id}`)).status).toBe(200);
    expect((await settled(id, "canceled")).attempts).toBe(1);
    expect((await api("GET", `/endpoints/${id}`)).status).toBe(404);
  });

  it("is refused when malformed", async () => {
    const url = "https://receiver.test/x";
    const bad = [
      {},
      { url: "ftp://x.test/" },
      { url: "https://user:pass@x.test/" },
      { url: "not a url" },
      { url, secret: "short" },
      { url, format: "xml" },
      { url, ordred: true },
    ];
    for (const body of bad) expect((await api("POST", "/endpoints", body)).status).toBe(400);
    expect((await api("PATCH", "/endpoints/nobody", { enabled: false })).status).toBe(404);
    expect((await api("POST", "/send", { type: "x" })).status).toBe(400);
  });
});

describe("judge()", () => {
  const result: AttemptResult = {
    status: 500,
    error: null,
    retryAfter: null,
    refused: false,
    body: "",
    headers: null,
    durationMs: 1,
  };

  it("follows the schedule within 20 % and gives up after its last step", () => {
    const delays = STANDARD_SCHEDULE.delays as readonly number[];
    for (const [index, delay] of delays.entries()) {
      for (const byte of [0, 128, 255]) {
        const random = (): Uint8Array => new Uint8Array([byte]);
        const verdict = judge(result, delayAfter(STANDARD_SCHEDULE, index + 1, { random }), 1000);
        const due = verdict.kind === "retry" ? verdict.due - 1000 : 0;
        expect(due).toBeGreaterThanOrEqual(delay * 0.8);
        expect(due).toBeLessThanOrEqual(delay * 1.2 + 1);
      }
    }
    const random = (): Uint8Array => new Uint8Array([0]);
    const last = delayAfter(STANDARD_SCHEDULE, delays.length + 1, { random });
    expect(judge(result, last, 0)).toEqual({ kind: "dead" });
  });

  it("waits as long as Retry-After says, a day at most", () => {
    const busy = (retryAfter: string) => judge({ ...result, status: 503, retryAfter }, 5000, 0);
    expect(busy("60")).toEqual({ kind: "retry", due: 60_000 });
    expect(busy("999999999")).toEqual({ kind: "retry", due: 86_400_000 });
    expect(busy("-1")).toEqual({ kind: "retry", due: 5000 });
  });
});
