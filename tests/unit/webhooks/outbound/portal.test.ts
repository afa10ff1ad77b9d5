import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { loginGuard } from "../../../../core/auth/login-guard.ts";
import { newLinkToken } from "../../../../core/auth/token-format.ts";
import { ApiError } from "../../../../core/http/api-error.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";
import type { PortalLinkView } from "../../../../core/webhooks/portal/portal-routes.ts";
import { topics } from "../../../../core/webhooks/outbound/topics.ts";
import { clockedOutbound, type ClockedOutbound } from "../../../fakes/webhooks-clock.ts";
import { receiver, type Receiver } from "../../../fakes/webhooks-receiver.ts";

let platform: Platform;
let egress: Receiver;
let outbound: ClockedOutbound;
const HOOK = "https://customer.test/hook";

beforeAll(async () => {
  platform = await openPlatform();
  egress = receiver();
  outbound = clockedOutbound(platform, egress, "seller");
  for (const id of ["acme", "bolt"]) await outbound.api("POST", "/applications", { id });
});
afterAll(() => platform.close());

interface Answer<T> {
  readonly status: number;
  readonly result: T;
}

const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length));

type Row = Readonly<Record<string, unknown>>;

async function link(application: string, body: object = {}): Promise<PortalLinkView> {
  const path = `/applications/${application}/portal`;
  return (await outbound.api<PortalLinkView>("POST", path, body)).result;
}

/** Asks as the customer who has a token. */
async function ask<T = Row>(
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Answer<T>> {
  const headers = { authorization: `Bearer ${token}` };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await outbound.app.fetch(
    new Request(`http://causey.test/webhook-portal${path}`, init),
  );
  const { result } = (await answer.json()) as { result: T };
  return { status: answer.status, result };
}

async function allSent(base: string): Promise<void> {
  while ((await outbound.api<{ pending: number }>("GET", `${base}/stats`)).result.pending > 0)
    await platform.system.sleep(2);
}

// Before the tests that move the clock: alarms of other actors than the account's do not follow it.
describe("figures by type", () => {
  it("are those of each endpoint, go with it, and are bounded", async () => {
    await outbound.api("POST", "/applications", { id: "figures" });
    const base = "/applications/figures";
    const failing = "https://figures.test/failing";
    egress.answer(failing, 500);
    const options = { retry_delays_seconds: [], concurrency: 200 };
    const made = await outbound.api<Row>("POST", `${base}/endpoints`, { url: failing, ...options });
    await outbound.api("POST", `${base}/send`, { type: "a", payload: 1 });
    await allSent(base);
    const shown = async (): Promise<Row[]> =>
      (await outbound.api<Row[]>("GET", `${base}/stats/topics`)).result;
    expect(await shown()).toMatchObject([
      { type: "a", endpoint_id: made.result["id"], attempts: 1, failed: 1, delivered: 0, dead: 1 },
    ]);
    await outbound.api("DELETE", `${base}/endpoints/${String(made.result["id"])}`);
    expect(await shown()).toEqual([]);
  });

  it("tell at most 1000 apart, and count the others together", async () => {
    const rows = Array.from({ length: 1000 }, (_, n) => ({ type: `t${n}`, endpoint_id: "ep" }));
    const figures = topics({ name: "x", sql: { all: () => Promise.resolve(rows) } });
    const attempt = { endpoint: "ep", isDelivered: true, isDead: false, durationMs: 1.4 };
    const counted = async (type: string): Promise<readonly unknown[] | undefined> =>
      (await figures.count({ ...attempt, type })).params;
    expect(await counted("t7")).toEqual(["x", "t7", "ep", 1, 0, 1]);
    expect(await counted("new")).toEqual(["x", "*", "", 1, 0, 1]);
  });
});

describe("a link to the portal", () => {
  it("shows a customer the own endpoints, attempts and figures, and sends again", async () => {
    const { token, url, read_only } = await link("acme");
    expect([url, read_only]).toEqual([null, false]);
    expect((await ask(token, "GET", "")).result).toMatchObject({ application: "acme" });
    const made = await ask(token, "POST", "/endpoints", { url: HOOK, types: ["order.*"] });
    expect(made).toMatchObject({ status: 201, result: { secret: expect.any(String) } });
    const base = "/applications/acme";
    await outbound.api("POST", `${base}/send`, { type: "order.paid", payload: { n: 1 } });
    await allSent(base);
    const [delivery] = (await ask<Row[]>(token, "GET", "/deliveries")).result;
    const id = String(delivery?.["id"]);
    const shown = await ask(token, "GET", `/deliveries/${id}`);
    expect(shown.result).toMatchObject({ status: "delivered", log: [{ status: 200 }] });
    expect((await ask(token, "POST", `/deliveries/${id}/replay`)).status).toBe(202);
    await allSent(base);
    expect((await ask(token, "POST", `/endpoints/${String(made.result["id"])}/test`)).status).toBe(
      202,
    );
    await allSent(base);
    const bodies = egress.received.filter((one) => one.url === HOOK).map(({ body }) => body);
    expect(bodies).toMatchObject(['{"n":1}', '{"n":1}', expect.stringContaining("webhook.test")]);
    expect((await ask<Row[]>(token, "GET", "/stats/topics")).result).toMatchObject([
      { type: "order.paid", attempts: 2, delivered: 2, failed: 0, dead: 0 },
      { type: "webhook.test", attempts: 1 },
    ]);
  });

  it("opens one application, and nothing else", async () => {
    const [acme, bolt] = [await link("acme"), await link("bolt")];
    const [endpoint] = (await ask<Row[]>(acme.token, "GET", "/endpoints")).result;
    const [delivery] = (await ask<Row[]>(acme.token, "GET", "/deliveries")).result;
    for (const [method, path] of [
      ["GET", `/endpoints/${String(endpoint?.["id"])}`],
      ["PATCH", `/endpoints/${String(endpoint?.["id"])}`],
      ["DELETE", `/endpoints/${String(endpoint?.["id"])}`],
      ["POST", `/endpoints/${String(endpoint?.["id"])}/test`],
      ["GET", `/deliveries/${String(delivery?.["id"])}`],
      ["POST", `/deliveries/${String(delivery?.["id"])}/replay`],
    ] as const)
      expect([
        path,
        (await ask(bolt.token, method, path, method === "GET" ? undefined : {})).status,
      ]).toEqual([path, 404]);
    expect((await ask(bolt.token, "GET", "/endpoints")).result).toEqual([]);
    expect((await ask(bolt.token, "GET", "/stats/topics")).result).toEqual([]);
    // What only the account does, and the agents of it.
    for (const path of ["/send", "/applications", "/applications/acme/portal"])
      expect((await ask(bolt.token, "POST", path, { type: "x", payload: 1 })).status).toBe(404);
    const agent = { url: "agent:webhook-agent/x" };
    expect((await ask(bolt.token, "POST", "/endpoints", agent)).status).toBe(400);
  });

  it("is refused without its token, after its time, and when the account ends it", async () => {
    const { token } = await link("bolt", { expires_seconds: 60 });
    const hours = await link("bolt", { expires_seconds: 7200 });
    for (const wrong of ["", "causey_wl_", `${token}x`, newLinkToken(random), "a".repeat(9000)])
      expect((await ask(wrong, "GET", "/endpoints")).status).toBe(401);
    expect((await ask(token, "GET", "/endpoints")).status).toBe(200);
    await outbound.advance(60_000);
    expect((await ask(token, "GET", "/endpoints")).status).toBe(401);
    expect((await ask(hours.token, "GET", "/endpoints")).status).toBe(200);
    expect((await outbound.api("DELETE", "/applications/bolt/portal")).status).toBe(200);
    expect((await ask(hours.token, "GET", "/endpoints")).status).toBe(401);
  });

  it("may only look where the account said so", async () => {
    const { token } = await link("acme", { read_only: true });
    const [endpoint] = (await ask<Row[]>(token, "GET", "/endpoints")).result;
    const path = `/endpoints/${String(endpoint?.["id"])}`;
    for (const [method, at] of [
      ["POST", "/endpoints"],
      ["PATCH", path],
      ["DELETE", path],
      ["POST", `${path}/rotate`],
      ["POST", `${path}/test`],
      ["POST", "/deliveries/replay"],
    ] as const)
      expect([at, (await ask(token, method, at, { url: HOOK })).status]).toEqual([at, 403]);
  });

  it("ends with its application, also for a later one of the same id", async () => {
    await outbound.api("POST", "/applications", { id: "leaver" });
    const { token } = await link("leaver");
    await outbound.api("DELETE", "/applications/leaver");
    expect((await ask(token, "GET", "")).status).toBe(401);
    await outbound.api("POST", "/applications", { id: "leaver" });
    expect((await ask(token, "GET", "")).status).toBe(401);
  });

  it("of an application that is deleted as it is made opens no later one of the same id", async () => {
    const fresh = await openPlatform();
    const made: unknown[] = [];
    const actors: Platform["actors"] = {
      define: (kind) => {
        fresh.actors.define(kind);
      },
      get(kind, name) {
        const actor = fresh.actors.get(kind, name);
        const call: typeof actor.call = async (method, ...args) => {
          if (method === "add") {
            await late.api("DELETE", "/applications/leaver");
            made.push(...args);
          }
          return actor.call(method, ...args);
        };
        return kind === "webhooks-portal"
          ? { ...actor, call, fetch: (request) => actor.fetch(request) }
          : actor;
      },
    };
    const late = clockedOutbound({ ...fresh, actors }, egress, "seller");
    await late.api("POST", "/applications", { id: "leaver" });
    expect((await late.api("POST", "/applications/leaver/portal")).status).toBe(404);
    const [{ hash } = { hash: "" }] = made as { hash: string }[];
    expect(hash).toMatch(/^[\da-f]{64}$/);
    expect(await fresh.actors.get("webhooks-portal", "all").call("find", hash)).toBeNull();
    await fresh.close();
  });

  it("stays where another cannot be made because the application could not be read", async () => {
    const fresh = await openPlatform();
    let reads = Infinity;
    const actors: Platform["actors"] = {
      define: (kind) => {
        fresh.actors.define(kind);
      },
      get(kind, name) {
        const actor = fresh.actors.get(kind, name);
        const call: typeof actor.call = async (method, ...args) => {
          if (method === "getApplication" && reads-- <= 0) throw new ApiError("unavailable");
          return actor.call(method, ...args);
        };
        return { ...actor, call, fetch: (request) => actor.fetch(request) };
      },
    };
    const own = clockedOutbound({ ...fresh, actors }, egress, "seller");
    await own.api("POST", "/applications", { id: "stayer" });
    const path = "/applications/stayer/portal";
    const { token } = (await own.api<PortalLinkView>("POST", path)).result;
    reads = 1;
    expect((await own.api("POST", path)).status).toBe(503);
    reads = Infinity;
    const headers = { authorization: `Bearer ${token}` };
    const shown = await own.app.request("/webhook-portal", { headers });
    expect(shown.status).toBe(200);
    await shown.body?.cancel();
    await fresh.close();
  });

  it("is taken from an address that guesses, and who shows none has guessed none", async () => {
    const { token } = await link("acme");
    const logins = loginGuard({ ...platform, clientAddress: () => "192.0.2.1" });
    const auth = Object.assign(() => Promise.resolve(null), { logins });
    const { actors } = platform;
    const guarded = webhooksManagement({
      platform: { ...platform, actors: { get: actors.get.bind(actors), define: () => undefined } },
      auth,
      sources: {},
    });
    const shown = async (authorization?: string): Promise<number> => {
      const headers = authorization === undefined ? {} : { authorization };
      const answer = await guarded.request("/webhook-portal/endpoints", { headers });
      await answer.body?.cancel();
      return answer.status;
    };
    for (let n = 0; n < 150; n++) expect(await shown()).toBe(401);
    for (let n = 0; n < 150; n++) await shown(`Bearer guess-${n}`);
    expect(await shown("Bearer another")).toBe(429);
    expect(await shown(`Bearer ${token}`)).toBe(200);
  });

  it("is for an application that there is, for a minute to a week, and one of 1000", async () => {
    const at = (id: string, body: object): Promise<Answer<unknown>> =>
      outbound.api("POST", `/applications/${id}/portal`, body);
    expect((await at("nobody", {})).status).toBe(404);
    for (const expires_seconds of [59, 604_801, 1.5, "60"])
      expect((await at("acme", { expires_seconds })).status).toBe(400);
    const links = platform.actors.get("webhooks-portal", "all");
    const expires = outbound.now() + 1e9;
    const filling = { account: "full", application: "x", readOnly: false, expires };
    for (let n = 0; n < 1000; n++) await links.call("add", { ...filling, hash: `h${n}` });
    expect(await links.call("add", { ...filling, hash: "more" })).toBe(false);
    // Another account still makes some.
    expect((await at("acme", {})).status).toBe(201);
  });
});
