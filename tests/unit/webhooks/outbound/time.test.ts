import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import type { Platform } from "../../../../core/ports.ts";
import { prepareKey } from "../../../../core/webhooks/signing/keys.ts";
import { attempt } from "../../../../core/webhooks/outbound/attempt.ts";
import { PRUNE_EVERY } from "../../../../core/webhooks/outbound/messages.ts";
import { schemes } from "../../../../core/webhooks/signing/schemes.ts";
import { verify } from "../../../../core/webhooks/signing/verify.ts";
import { clockedOutbound, type ClockedOutbound } from "../../../fakes/webhooks-clock.ts";
import { receiver, type Received, type Receiver } from "../../../fakes/webhooks-receiver.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let platform: Platform;
let egress: Receiver;
let outbound: ClockedOutbound;

beforeAll(async () => {
  platform = await openPlatform();
  egress = receiver();
  outbound = clockedOutbound(platform, egress, "timed");
});
afterAll(() => platform.close());

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly entity: string | null;
}
interface Endpoint {
  readonly id: string;
  readonly enabled: boolean;
  readonly public_key: string | null;
  readonly secret?: string;
  readonly disabled_reason: string | null;
  readonly tripped_until: string | null;
}
interface Stats {
  readonly counters: Record<string, number>;
  readonly pending: number;
  readonly endpoints: { readonly tripped: number };
}

const got = (url: string): Received[] => egress.received.filter((one) => one.url === url);
const typeOf = (url: string): string => `only.${url}`;

async function endpoint(url: string, more: Record<string, unknown> = {}): Promise<Endpoint> {
  const body = { url, types: [typeOf(url)], ...more };
  const { result, status } = await outbound.api<Endpoint>("POST", "/endpoints", body);
  expect(status).toBe(201);
  return result;
}

async function show(id: string): Promise<Endpoint> {
  return (await outbound.api<Endpoint>("GET", `/endpoints/${id}`)).result;
}

async function send(url: string, more: Record<string, unknown> = {}): Promise<string> {
  const body = { type: typeOf(url), payload: { n: 1 }, ...more };
  const { result, status } = await outbound.api<{ id: string }>("POST", "/send", body);
  expect(status).toBe(202);
  return result.id;
}

async function list(query: string): Promise<Delivery[]> {
  return (await outbound.api<Delivery[]>("GET", `/deliveries?limit=1000&${query}`)).result;
}

const counters = async (): Promise<Record<string, number>> =>
  (await outbound.api<Stats>("GET", "/stats")).result.counters;

async function check(secret: string, { headers, body, url }: Received): Promise<string | null> {
  const scheme = schemes["standard-webhooks"];
  const request = { method: "POST", url, headers, body: utf8(body) };
  return verify(scheme, [prepareKey(scheme, secret, "test")], request, outbound.now());
}

describe("an endpoint that fails again and again", () => {
  it("is left alone, probed by one delivery, and gets the rest when that arrives", async () => {
    const url = "https://receiver.test/breaker";
    egress.answer(url, 500);
    const { id } = await endpoint(url);
    await outbound.advance(DAY);
    for (let i = 0; i < 20; i++) await send(url);
    await outbound.advance(1);
    const before = got(url).length;
    // Four at a time: at least five failed, and what was under way by then.
    expect(before).toBeGreaterThanOrEqual(5);
    expect(before).toBeLessThanOrEqual(8);
    expect((await show(id)).tripped_until).not.toBeNull();
    await outbound.advance(10 * SECOND);
    expect(got(url)).toHaveLength(before);
    await outbound.advance(10 * 60 * SECOND);
    expect(got(url)).toHaveLength(before + 1);
    await outbound.advance(10 * SECOND);
    expect(got(url)).toHaveLength(before + 1);
    egress.answer(url, 200);
    await outbound.advance(HOUR);
    expect((await show(id)).tripped_until).toBeNull();
    expect(await list(`endpoint_id=${id}&status=delivered`)).toHaveLength(20);
    expect(await list(`endpoint_id=${id}&status=pending`)).toEqual([]);
  });

  it("for five days is switched off, and those who asked are told", async () => {
    const url = "https://receiver.test/hopeless";
    const [ops, all] = ["https://receiver.test/ops", "https://receiver.test/all"];
    egress.answer(url, 500);
    const { id } = await endpoint(url);
    const listener = await endpoint(ops, { types: ["webhook.endpoint.*"] });
    const everything = await endpoint(all, { types: [] });
    for (let day = 0; day < 5; day++) {
      await send(url);
      for (let quarter = 0; quarter < 4; quarter++) await outbound.advance(6 * HOUR);
      expect((await show(id)).enabled).toBe(true);
    }
    await send(url);
    await outbound.advance(6 * HOUR);
    await outbound.advance(6 * HOUR);
    expect(await show(id)).toMatchObject({
      enabled: false,
      disabled_reason: "Every attempt failed for five days",
    });
    expect(got(ops).map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
      { type: "webhook.endpoint.failing", data: { endpoint_id: id, url } },
      { type: "webhook.endpoint.disabled", data: { endpoint_id: id, url } },
    ]);
    expect(got(all).filter(({ body }) => body.includes("disabled"))).toEqual([]);
    expect((await counters())["endpoints_disabled"]).toBe(1);
    for (const one of [listener, everything]) await outbound.api("DELETE", `/endpoints/${one.id}`);
  });
});

describe("an ordered endpoint", () => {
  const order = (url: string): string[] => got(url).map(({ body }) => JSON.parse(body) as string);

  it("gets the events of one entity one after another, and others meanwhile", async () => {
    const url = "https://receiver.test/ordered";
    egress.answer(url, 500, 200);
    const { id } = await endpoint(url, { ordered: true });
    await send(url, { entity: "a", payload: "a1" });
    await outbound.advance(1);
    await send(url, { entity: "a", payload: "a2" });
    await send(url, { entity: "a", payload: "a3" });
    await send(url, { entity: "b", payload: "b1" });
    await send(url, { payload: "none" });
    await outbound.advance(1);
    expect(order(url).slice(0, 1)).toEqual(["a1"]);
    expect(order(url).slice(1).toSorted()).toEqual(["b1", "none"]);
    expect(await list(`endpoint_id=${id}&status=pending&entity=a`)).toHaveLength(3);
    await outbound.advance(7 * SECOND);
    expect(order(url).slice(3)).toEqual(["a1", "a2", "a3"]);
  });

  it("gives one event up after a day, for the sake of those behind it", async () => {
    const url = "https://receiver.test/blocked";
    egress.answer(url, 500);
    const { id } = await endpoint(url, { ordered: true });
    await send(url, { entity: "a", payload: "first" });
    await outbound.advance(1);
    await send(url, { entity: "a", payload: "second" });
    for (let hour = 0; hour < 40; hour++) await outbound.advance(HOUR);
    egress.answer(url, 200);
    await outbound.advance(HOUR);
    expect((await list(`endpoint_id=${id}&status=dead`)).length).toBe(1);
    expect(order(url).indexOf("second")).toBeGreaterThan(order(url).lastIndexOf("first"));
    expect(order(url).at(-1)).toBe("second");
  });
});

describe("the keys of an endpoint", () => {
  it("may be Ed25519: signed as v1a, checked with the public key that is shown", async () => {
    const url = "https://receiver.test/ed25519";
    const made = await endpoint(url, { key_type: "ed25519" });
    expect(made.secret).toBeUndefined();
    expect(made.public_key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    expect((await show(made.id)).public_key).toBe(made.public_key);
    await send(url);
    await outbound.advance(1);
    const [request] = got(url);
    expect(request!.headers.get("webhook-signature")).toMatch(/^v1a,/);
    expect(request!.headers.has("x-signature")).toBe(false);
    expect(await check(made.public_key!, request!)).toBeNull();
    const other = await endpoint("https://receiver.test/other", { key_type: "ed25519" });
    expect(await check(other.public_key!, request!)).not.toBeNull();
  });

  it("agree with RFC 8032, section 7.1, test 1", async () => {
    const seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
    const made = await endpoint("https://receiver.test/rfc", { secret: `whsk_${seed}` });
    expect(made.public_key).toBe("whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
  });

  it("sign together while they are rotated, until the old one's time is over", async () => {
    const url = "https://receiver.test/rotation";
    const { id, secret } = await endpoint(url);
    const rotated = await outbound.api<Endpoint>("POST", `/endpoints/${id}/rotate`, {
      key_type: "ed25519",
      grace_seconds: 3600,
    });
    const signatures = async (): Promise<Received> => {
      await send(url);
      await outbound.advance(1);
      return got(url).at(-1)!;
    };
    const both = await signatures();
    expect(both.headers.get("webhook-signature")).toMatch(/^v1a,\S+ v1,\S+$/);
    expect(await check(secret!, both)).toBeNull();
    expect(await check(rotated.result.public_key!, both)).toBeNull();
    await outbound.advance(HOUR);
    const later = await signatures();
    expect(await check(secret!, later)).not.toBeNull();
    expect(await check(rotated.result.public_key!, later)).toBeNull();
    const last = await outbound.api<Endpoint>("POST", `/endpoints/${id}/rotate`, {
      key_type: "hmac",
      grace_seconds: 0,
    });
    const only = await signatures();
    expect(only.headers.get("webhook-signature")).toMatch(/^v1,\S+$/);
    expect(await check(last.result.secret!, only)).toBeNull();
    expect(last.result.public_key).toBeNull();
  });

  it("are refused when malformed or of another type than asked for", async () => {
    const url = "https://receiver.test/keys";
    for (const body of [
      { url, key_type: "rsa" },
      { url, secret: `whsk_${btoa("x".repeat(33))}` },
      { url, key_type: "ed25519", secret: `whsec_${btoa("x".repeat(33))}` },
    ]) {
      expect((await outbound.api("POST", "/endpoints", body)).status).toBe(400);
    }
  });
});

describe("replay", () => {
  it("by filter, range or ids makes new deliveries, whatever the idempotency key", async () => {
    const url = "https://receiver.test/replay";
    egress.answer(url, "refused");
    const { id } = await endpoint(url);
    const start = new Date(outbound.now()).toISOString();
    for (const n of [1, 2, 3]) {
      await send(url, { payload: n, entity: `e${n}`, idempotency_key: `replay-${n}` });
      await outbound.advance(SECOND);
    }
    await outbound.advance(DAY);
    const dead = await list(`endpoint_id=${id}&status=dead`);
    expect(dead).toHaveLength(3);
    egress.answer(url, 200);
    const before = got(url).length;
    const replay = async (filter: object): Promise<unknown> =>
      (await outbound.api("POST", "/deliveries/replay", { endpoint_id: id, ...filter })).result;
    expect(await replay({ since: new Date(outbound.now()).toISOString() })).toEqual({
      replayed: 0,
      more: false,
    });
    expect(await replay({ type: "other" })).toMatchObject({ replayed: 0 });
    expect(await replay({ entity: "e2" })).toMatchObject({ replayed: 1 });
    expect(
      await replay({ since: start, until: new Date(outbound.now()).toISOString() }),
    ).toMatchObject({ replayed: 2 });
    await outbound.advance(DAY);
    // Sent at the same time, so that any may arrive first.
    const bodies = got(url).slice(before);
    expect(bodies.map(({ body }) => body).toSorted()).toEqual(["1", "2", "3"]);
    expect(await list(`endpoint_id=${id}&status=replayed`)).toHaveLength(3);
    const ids = dead.map((one) => one.id);
    expect(await replay({ ids })).toMatchObject({ replayed: 3 });
    await outbound.advance(DAY);
    expect(got(url)).toHaveLength(before + 6);
    for (const bad of [{ ids: [] }, { since: "yesterday" }, { status: "gone" }])
      expect((await outbound.api("POST", "/deliveries/replay", bad)).status).toBe(400);
  });
});

describe("an attempt", () => {
  it("is kept with the answer's headers, without what is secret", async () => {
    const url = "https://receiver.test/headers";
    egress.answer(url, {
      status: 200,
      headers: [
        ["x-request-id", "r1"],
        ["set-cookie", "session=secret"],
        ["x-api-key", "secret"],
      ],
    });
    const { id } = await endpoint(url);
    await send(url);
    await outbound.advance(1);
    const [delivered] = await list(`endpoint_id=${id}`);
    const { result } = await outbound.api<{ log: { headers: object }[] }>(
      "GET",
      `/deliveries/${delivered!.id}`,
    );
    expect(result.log[0]?.headers).toEqual({
      "x-request-id": "r1",
      "set-cookie": "[redacted]",
      "x-api-key": "[redacted]",
    });
  });

  it("ends after 15 s in all, whatever the receiver does", async () => {
    const sleeps: number[] = [];
    const system = {
      ...platform.system,
      sleep(ms: number) {
        sleeps.push(ms);
        return Promise.resolve();
      },
    };
    const silent = {
      send: ({ signal }: { readonly signal?: AbortSignal }) =>
        new Promise<never>((_, reject) => {
          signal?.addEventListener("abort", () => {
            // As the transports of sockets do.
            reject(new TransportError("aborted", "The request was aborted"));
          });
        }),
    };
    const result = await attempt(silent, system, {
      url: "https://receiver.test/",
      extra: [],
      body: "{}",
      timeoutMs: 15_000,
    });
    expect(sleeps).toEqual([15_000]);
    expect(result).toMatchObject({ status: null, error: "No complete answer within 15000 ms" });
  });
});

describe("event types", () => {
  it("may be given by their beginning", async () => {
    const url = "https://receiver.test/prefix";
    await endpoint(url, { types: ["issue.*", "push"] });
    for (const type of ["issue.opened", "issue", "issues.opened", "push", "pushed"])
      await outbound.api("POST", "/send", { type, payload: type });
    await outbound.advance(1);
    const types = got(url).map(({ body }) => JSON.parse(body) as string);
    expect(types.toSorted()).toEqual(["issue.opened", "push"]);
    const bad = { url, types: ["*.opened"] };
    expect((await outbound.api("POST", "/endpoints", bad)).status).toBe(400);
  });
});

describe("GET …/webhooks/stats", () => {
  it("counts, and an idempotency key that came twice counts once", async () => {
    const url = "https://receiver.test/stats";
    await endpoint(url);
    const before = await counters();
    for (let i = 0; i < 3; i++) await send(url, { idempotency_key: "stats" });
    await outbound.advance(1);
    const after = await counters();
    const grown = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
    expect(["messages", "deliveries", "attempts", "delivered", "failed"].map(grown)).toEqual([
      1, 1, 1, 1, 0,
    ]);
  });
});

describe("a dead delivery", () => {
  it("stays for 90 days, then it expires with its attempts and its message", async () => {
    const url = "https://receiver.test/expires";
    egress.answer(url, "refused", 200);
    const { id } = await endpoint(url);
    await send(url);
    await outbound.advance(1);
    const dead = (): Promise<Delivery[]> => list(`endpoint_id=${id}&status=dead`);
    const [delivery] = await dead();
    await outbound.advance(89 * DAY);
    await send(url);
    expect(await dead()).toHaveLength(1);
    await outbound.advance(2 * DAY);
    for (let n = 0; n < PRUNE_EVERY; n++) await send(url);
    expect(await dead()).toEqual([]);
    expect((await outbound.api("GET", `/deliveries/${delivery?.id}`)).status).toBe(404);
  });
});
