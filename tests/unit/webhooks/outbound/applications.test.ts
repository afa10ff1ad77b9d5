import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { Platform } from "../../../../core/ports.ts";
import { clockedOutbound, type ClockedOutbound } from "../../../fakes/webhooks-clock.ts";
import { receiver, type Received, type Receiver } from "../../../fakes/webhooks-receiver.ts";

let platform: Platform;
let egress: Receiver;
let outbound: ClockedOutbound;

beforeAll(async () => {
  platform = await openPlatform();
  egress = receiver();
  outbound = clockedOutbound(platform, egress, "seller");
});
afterAll(() => platform.close());

interface Made {
  readonly id: string;
  readonly secret: string;
}

const got = (url: string): Received[] => egress.received.filter((one) => one.url === url);
const statusOf = async (method: string, path: string, body?: unknown): Promise<number> =>
  (await outbound.api(method, path, body)).status;
const result = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
  (await outbound.api<T>(method, path, body)).result;

async function application(id: string, more: object = {}): Promise<string> {
  expect(await statusOf("POST", "/applications", { id, ...more })).toBe(201);
  return `/applications/${id}`;
}

/** Sends a message and waits until every delivery of the application has ended. */
async function sendAll(base: string, body: object): Promise<void> {
  expect(await statusOf("POST", `${base}/send`, body)).toBe(202);
  while ((await result<{ pending: number }>("GET", `${base}/stats`)).pending > 0)
    await platform.system.sleep(2);
}

describe("applications", () => {
  it("have endpoints, secrets, messages and deliveries of their own", async () => {
    const [a, b] = [await application("tenant-a"), await application("tenant-b")];
    const [urlA, urlB] = ["https://a.test/hook", "https://b.test/hook"];
    const madeA = await result<Made>("POST", `${a}/endpoints`, { url: urlA });
    const madeB = await result<Made>("POST", `${b}/endpoints`, { url: urlB });
    expect(madeA.secret).not.toBe(madeB.secret);
    const body = { type: "order.paid", payload: { n: 1 }, idempotency_key: "same" };
    await sendAll(a, body);
    expect([got(urlA).length, got(urlB).length]).toEqual([1, 0]);
    // The same key is another message there.
    await sendAll(b, { ...body, payload: { n: 2 } });
    expect([got(urlA).length, got(urlB).length]).toEqual([1, 1]);
    const [delivery] = await result<Made[]>("GET", `${a}/deliveries`);
    for (const [method, path] of [
      ["GET", `/deliveries/${delivery?.id}`],
      ["POST", `/deliveries/${delivery?.id}/replay`],
      ["GET", `/endpoints/${madeA.id}`],
      ["DELETE", `/endpoints/${madeA.id}`],
      ["POST", `/endpoints/${madeA.id}/rotate`],
    ] as const)
      for (const other of [b, ""])
        expect([path, await statusOf(method, `${other}${path}`)]).toEqual([path, 404]);
    expect(await result<Made[]>("GET", "/endpoints")).toEqual([]);
    expect(await result<Made[]>("GET", `${b}/deliveries`)).toHaveLength(1);
    const named = { ...body, idempotency_key: "other", endpoint_id: madeA.id };
    expect(await statusOf("POST", `${b}/send`, named)).toBe(404);
  });

  it("of two accounts may have one id, and are two", async () => {
    await application("shared-id");
    const other = "http://causey.test/accounts/buyer/webhooks/applications/shared-id";
    const answer = await outbound.app.fetch(new Request(`${other}/endpoints`));
    expect(answer.status).toBe(404);
    await answer.body?.cancel();
  });

  it("have limits of endpoints and messages", async () => {
    const base = await application("limited", { max_endpoints: 1, messages_per_second: 1 });
    const url = "https://limited.test/hook";
    expect(await statusOf("POST", `${base}/endpoints`, { url })).toBe(201);
    expect(await statusOf("POST", `${base}/endpoints`, { url })).toBe(409);
    const body = { type: "x", payload: {} };
    expect(await statusOf("POST", `${base}/send`, body)).toBe(202);
    expect(await statusOf("POST", `${base}/send`, body)).toBe(429);
    await result("PATCH", base, { max_endpoints: 2, messages_per_second: null });
    expect(await statusOf("POST", `${base}/endpoints`, { url })).toBe(201);
    expect(await statusOf("POST", `${base}/send`, body)).toBe(202);
  });

  it("have a limit that replays count against, too", async () => {
    const base = await application("replaying");
    const url = "https://replaying.test/hook";
    expect(await statusOf("POST", `${base}/endpoints`, { url })).toBe(201);
    for (let n = 0; n < 5; n++) await sendAll(base, { type: "x", payload: n });
    await result("PATCH", base, { messages_per_second: 0.01 });
    const filter = { status: "delivered" };
    const replay = `${base}/deliveries/replay`;
    expect(await result("POST", replay, filter)).toEqual({ replayed: 1, more: true });
    expect(await statusOf("POST", replay, filter)).toBe(429);
    const [delivery] = await result<Made[]>("GET", `${base}/deliveries`);
    const one = `${base}/deliveries/${delivery?.id}/replay`;
    expect(await statusOf("POST", one)).toBe(429);
    await result("PATCH", base, { messages_per_second: null });
    expect(await statusOf("POST", one)).toBe(202);
    expect(await result("POST", replay, filter)).toMatchObject({ more: false });
  });

  it("are listed by id, a page at a time", async () => {
    for (const id of ["page-1", "page-2", "page-3"]) await application(id);
    const read = async (query: string) => {
      const url = `http://causey.test/accounts/seller/webhooks/applications?limit=2&${query}`;
      const answer = await outbound.app.fetch(new Request(url));
      return (await answer.json()) as {
        result: { id: string }[];
        result_info: { cursor: string | null };
      };
    };
    const first = await read("cursor=page-0");
    expect(first.result.map(({ id }) => id)).toEqual(["page-1", "page-2"]);
    expect(first.result_info.cursor).toBe("page-2");
    const last = await read("cursor=page-2&limit=50");
    expect(last.result.map(({ id }) => id)).toContain("page-3");
  });

  it("leave nothing behind, and can be made again", async () => {
    const base = await application("leaver");
    await result("POST", `${base}/endpoints`, { url: "https://leaver.test/hook" });
    await sendAll(base, { type: "x", payload: { secret: 1 } });
    expect(await statusOf("DELETE", base)).toBe(200);
    expect(await statusOf("GET", `${base}/endpoints`)).toBe(404);
    expect(await statusOf("DELETE", base)).toBe(404);
    await application("leaver");
    expect(await result<Made[]>("GET", `${base}/endpoints`)).toEqual([]);
    expect(await result<Made[]>("GET", `${base}/deliveries`)).toEqual([]);
    const { counters } = await result<{ counters: Record<string, number> }>("GET", `${base}/stats`);
    expect(counters["messages"]).toBe(0);
  });

  it("are refused with an id that is taken or not one", async () => {
    await application("taken");
    expect(await statusOf("POST", "/applications", { id: "taken" })).toBe(409);
    for (const id of ["", "a/b", "a b", "x".repeat(65)])
      expect([id, await statusOf("POST", "/applications", { id })]).toEqual([id, 400]);
    expect(await statusOf("POST", "/applications", { id: "x", max_endpoints: 501 })).toBe(400);
    expect(await statusOf("POST", "/applications/nobody/send", { type: "x", payload: 1 })).toBe(
      404,
    );
  });
});
