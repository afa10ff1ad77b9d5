import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { OUTBOUND_KIND } from "../../../../core/entity/outbound.ts";
import type { Platform } from "../../../../core/ports.ts";
import { clockedOutbound, type ClockedOutbound } from "../../../fakes/webhooks-clock.ts";
import { receiver, type Received, type Receiver } from "../../../fakes/webhooks-receiver.ts";
import { bigOrders, shownPayload } from "../../../fakes/webhooks-shown.ts";

let platform: Platform;
let egress: Receiver;
let outbound: ClockedOutbound;

beforeAll(async () => {
  platform = await openPlatform();
  egress = receiver();
  outbound = clockedOutbound(platform, egress, "settings");
});
afterAll(() => platform.close());

interface Endpoint {
  readonly id: string;
  readonly filter: unknown;
  readonly header_names: readonly string[];
  readonly retry_delays_seconds: readonly number[] | null;
  readonly timeout_seconds: number;
}

const got = (url: string): Received[] => egress.received.filter((one) => one.url === url);

async function endpoint(url: string, more: Record<string, unknown>): Promise<Endpoint> {
  const body = { url, types: [`only.${url}`], ...more };
  const { result, status } = await outbound.api<Endpoint>("POST", "/endpoints", body);
  expect(status).toBe(201);
  return result;
}

async function send(url: string, json: string): Promise<number> {
  const request = new Request("http://causey.test/accounts/settings/webhooks/send", {
    method: "POST",
    body: `{"type": "only.${url}", "payload": ${json}}`,
  });
  const response = await outbound.app.fetch(request);
  expect(response.status).toBe(202);
  return ((await response.json()) as { result: { deliveries: number } }).result.deliveries;
}

const statusOf = async (body: unknown): Promise<number> =>
  (await outbound.api("POST", "/endpoints", body)).status;

it("an endpoint takes no list for its headers", async () => {
  expect(await statusOf({ url: "https://receiver.test/list", headers: ["a: b"] })).toBe(400);
});

describe("the filter of an endpoint", () => {
  it("lets the payloads through that fulfil it", async () => {
    const url = "https://receiver.test/filtered";
    const { filter } = await endpoint(url, { filter: bigOrders });
    expect(filter).toEqual(bigOrders);
    const cases: [object, number][] = [
      [shownPayload, 1],
      [{ ...shownPayload, total: 99 }, 0],
      [{ ...shownPayload, country: "US" }, 0],
      [{ ...shownPayload, test: true }, 0],
      [{ ...shownPayload, sku: "book-7" }, 0],
      [{}, 0],
    ];
    for (const [payload, deliveries] of cases)
      expect([payload, await send(url, JSON.stringify(payload))]).toEqual([payload, deliveries]);
  });

  it("compares integers of many digits as texts, and no others", async () => {
    const url = "https://receiver.test/digits";
    await endpoint(url, {
      filter: { $or: [{ id: "12345678901234567890" }, { at: 1234567890123456 }] },
    });
    expect(await send(url, '{"id": 12345678901234567890}')).toBe(1);
    expect(await send(url, '{"id": 12345678901234567891}')).toBe(0);
    expect(await send(url, '{"note": "12345678901234567", "at": 1234567890123456}')).toBe(1);
  });

  it("reads elements and own members alone", async () => {
    const url = "https://receiver.test/members";
    await endpoint(url, {
      filter: { "items.1.name": { $exists: true }, constructor: { $exists: false } },
    });
    expect(await send(url, '{"items": [{}, {"name": "b"}]}')).toBe(1);
    expect(await send(url, '{"items": [{"name": "a"}]}')).toBe(0);
    expect(await send(url, "7")).toBe(0);
  });

  it("is refused when it is not one, or too long", async () => {
    const url = "https://receiver.test/x";
    expect(await statusOf({ url, filter: { a: { $regex: "x" } } })).toBe(400);
    expect(await statusOf({ url, filter: [] })).toBe(400);
    for (const operand of [{ $exists: "yes" }, { $prefix: 1 }, { $gt: {} }, { $lte: true }])
      expect(await statusOf({ url, filter: { a: operand } }), JSON.stringify(operand)).toBe(400);
    expect(await statusOf({ url, filter: { a: "x".repeat(2100) } })).toBe(400);
  });

  it("is refused when a path has an empty name, with the path that was meant", async () => {
    for (const [path, meant] of [
      ["a..b", '\\"a.b\\"'],
      [".a", '\\"a\\"'],
      ["a.", '\\"a\\"'],
      ["", "customer.plan"],
    ] as const) {
      const body = { url: "https://receiver.test/x", filter: { $or: [{ [path]: 1 }] } };
      const { errors, status } = await outbound.api("POST", "/endpoints", body);
      expect([path, status, JSON.stringify(errors)]).toEqual([
        path,
        400,
        expect.stringContaining(meant),
      ]);
    }
  });

  it("that an earlier version has stored is shown, holds as before, and stays through other changes", async () => {
    const url = "https://receiver.test/earlier";
    const filter = { $or: [{ plan: { $exists: "yes" } }, { "a..b": 1 }] };
    const { id } = await endpoint(url, { filter: { never: 1 } });
    const changed = platform.actors
      .get(OUTBOUND_KIND, "settings")
      .call("updateEndpoint", id, { filter });
    expect(await changed).toMatchObject({ filter });
    const { result } = await outbound.api<Endpoint[]>("GET", "/endpoints");
    expect(result.find((one) => one.id === id)?.filter).toEqual(filter);
    const patched = await outbound.api<Endpoint>("PATCH", `/endpoints/${id}`, {
      timeout_seconds: 3,
    });
    expect([patched.status, patched.result.filter]).toEqual([200, filter]);
    expect(await send(url, "{}")).toBe(1);
    expect(await send(url, '{"plan": "pro"}')).toBe(0);
    expect(await statusOf({ url, filter })).toBe(400);
  });

  it("can be taken away", async () => {
    const url = "https://receiver.test/unfiltered";
    const { id } = await endpoint(url, { filter: { never: 1 } });
    expect(await send(url, "{}")).toBe(0);
    await outbound.api("PATCH", `/endpoints/${id}`, { filter: null });
    expect(await send(url, "{}")).toBe(1);
  });
});

describe("the headers of an endpoint", () => {
  it("are sent beside the signature, and their values are not shown", async () => {
    const url = "https://receiver.test/headers";
    const made = await endpoint(url, { headers: { Authorization: "Bearer abc", "x-team": "a" } });
    expect(made.header_names).toEqual(["authorization", "x-team"]);
    await send(url, "{}");
    await outbound.advance(1);
    const [first] = got(url);
    expect(first?.headers.get("authorization")).toBe("Bearer abc");
    expect(first?.headers.has("webhook-signature")).toBe(true);
    const shown = await outbound.api("GET", `/endpoints/${made.id}`);
    expect(JSON.stringify(shown)).not.toContain("Bearer abc");
    await outbound.api("PATCH", `/endpoints/${made.id}`, { description: "kept" });
    await outbound.api("PATCH", `/endpoints/${made.id}`, { headers: { "x-team": "b" } });
    await send(url, "{}");
    await outbound.advance(1);
    expect(got(url)[1]?.headers.get("x-team")).toBe("b");
    expect(got(url)[1]?.headers.has("authorization")).toBe(false);
  });

  it("go to no other host than the one that they were given for", async () => {
    const { id } = await endpoint("https://first.test/a", { headers: { authorization: "key" } });
    const moved = async (patch: object): Promise<number> =>
      (await outbound.api("PATCH", `/endpoints/${id}`, patch)).status;
    expect(await moved({ url: "https://first.test/b" })).toBe(200);
    const other = "https://second.test/a";
    expect(await moved({ url: other })).toBe(400);
    expect(await moved({ url: "http://first.test/b" })).toBe(400);
    expect(await moved({ url: other, headers: {} })).toBe(200);
    expect(await moved({ url: "https://third.test/a" })).toBe(200);
  });

  it("are none of the sender's own, and fit into a request", async () => {
    const url = "https://receiver.test/x";
    for (const name of ["webhook-id", "X-Signature", "Host", "Connection", "a b", ""])
      expect([name, await statusOf({ url, headers: { [name]: "v" } })]).toEqual([name, 400]);
    expect(await statusOf({ url, headers: { a: "line\r\nbreak" } })).toBe(400);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`x-${i}`, "v"]));
    expect(await statusOf({ url, headers: many })).toBe(400);
  });
});

describe("the attempts of an endpoint", () => {
  it("follow its own schedule, and end with it", async () => {
    const url = "https://receiver.test/schedule";
    egress.answer(url, 500);
    const { id } = await endpoint(url, { retry_delays_seconds: [10, 100] });
    await send(url, "{}");
    await outbound.advance(1);
    for (const [seconds, attempts] of [
      [7, 1],
      [6, 2],
      [70, 2],
      [60, 3],
      [86_400, 3],
    ] as const) {
      await outbound.advance(seconds * 1000);
      expect([seconds, got(url).length]).toEqual([seconds, attempts]);
    }
    const { result } = await outbound.api<unknown[]>(
      "GET",
      `/deliveries?endpoint_id=${id}&status=dead`,
    );
    expect(result).toHaveLength(1);
  });

  it("is one where the schedule is empty", async () => {
    const url = "https://receiver.test/once-only";
    egress.answer(url, 500);
    const { id } = await endpoint(url, { retry_delays_seconds: [] });
    await send(url, "{}");
    await outbound.advance(1);
    const { result } = await outbound.api<unknown[]>(
      "GET",
      `/deliveries?endpoint_id=${id}&status=dead`,
    );
    expect(result).toHaveLength(1);
  });

  it("have bounds", async () => {
    const url = "https://receiver.test/x";
    expect(await statusOf({ url, timeout_seconds: 31 })).toBe(400);
    expect(await statusOf({ url, timeout_seconds: 0 })).toBe(400);
    expect(await statusOf({ url, retry_delays_seconds: [86_401] })).toBe(400);
    expect(await statusOf({ url, retry_delays_seconds: Array(21).fill(1) })).toBe(400);
    const { retry_delays_seconds: delays, timeout_seconds: timeout } = await endpoint(url, {
      timeout_seconds: 30,
    });
    expect([delays, timeout]).toEqual([null, 30]);
  });
});
