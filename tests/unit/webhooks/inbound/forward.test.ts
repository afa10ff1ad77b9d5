import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../../core/agents/mod.ts";
import { toHex } from "../../../../core/crypto/encoding.ts";
import { hmacKey, hmacSign } from "../../../../core/crypto/hmac.ts";
import { ApiError } from "../../../../core/http/api-error.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { receiver, type Received, type Receiver } from "../../../fakes/webhooks-receiver.ts";
import { SECRET } from "../../../fakes/webhooks-sender.ts";

let platform: Platform;
let egress: Receiver;
let inbound: Hono;
let management: Hono;
/** Makes the next message fail, as on a full disk. */
let fails = false;

beforeAll(async () => {
  const real = await openPlatform();
  egress = receiver();
  const actors: Platform["actors"] = {
    define: (kind) => {
      real.actors.define(kind);
    },
    get(kind, name) {
      if (kind !== "webhooks-outbound" || !fails) return real.actors.get(kind, name);
      fails = false;
      throw new ApiError("storage_full");
    },
  };
  platform = { ...real, actors, egress };
  const options = {
    platform,
    auth: "off",
    accountId: "owner",
    sources: {
      open: { scheme: "generic", secret: SECRET, forward: true },
      some: { scheme: "generic", secret: SECRET, forward: { filter: { plan: "pro" } } },
      none: { scheme: "generic", secret: SECRET },
    },
  } as const;
  inbound = webhooks(options);
  management = webhooksManagement(options);
  agents({ platform, auth: "off" });
});
afterAll(() => platform.close());

async function event(source: string, body: string): Promise<number> {
  const signature = toHex(await hmacSign(await hmacKey(SECRET), body));
  const headers = { "x-signature": `sha256=${signature}` };
  const request = new Request(`http://causey.test/${source}/thing`, {
    method: "POST",
    body,
    headers,
  });
  const answer = await inbound.fetch(request);
  await answer.body?.cancel();
  return answer.status;
}

async function api<T>(account: string, method: string, path: string, body?: object): Promise<T> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const url = `http://causey.test/accounts/${account}/webhooks${path}`;
  const answer = await management.fetch(new Request(url, init));
  return ((await answer.json()) as { result: T }).result;
}

async function endpoint(account: string, url: string, types: readonly string[]): Promise<void> {
  await api(account, "POST", "/endpoints", { url, types });
}

/** What an address got, once nothing is on its way. */
async function got(url: string): Promise<Received[]> {
  while ((await api<{ pending: number }>("owner", "GET", "/stats")).pending > 0)
    await platform.system.sleep(2);
  return egress.received.filter((one) => one.url === url);
}

describe("a source that forwards", () => {
  it("sends its events on once, byte for byte, to its own account's endpoints", async () => {
    const [mine, other] = ["https://mine.test/a", "https://other.test/a"];
    await endpoint("owner", mine, ["open.*"]);
    await endpoint("stranger", other, []);
    const body = '{"event_id":"e1","type":"paid","n":1.0}';
    expect([await event("open", body), await event("open", body)]).toEqual([200, 200]);
    const [first, ...more] = await got(mine);
    expect([first?.body, more]).toEqual([body, []]);
    expect(first?.headers.get("x-webhook-event")).toBe("open.paid");
    expect(await got(other)).toEqual([]);
    // The same id in another body is the event that was sent on.
    expect(await event("open", '{"event_id":"e1","type":"paid","n":2}')).toBe(200);
    expect(await got(mine)).toHaveLength(1);
  });

  it("sends on only what its filter lets through", async () => {
    const url = "https://mine.test/some";
    await endpoint("owner", url, ["some.*", "none.*"]);
    for (const [source, plan] of [
      ["some", "free"],
      ["some", "pro"],
      ["none", "pro"],
    ] as const)
      expect(await event(source, JSON.stringify({ event_id: plan, type: "t", plan }))).toBe(200);
    expect((await got(url)).map(({ headers }) => headers.get("x-webhook-event"))).toEqual([
      "some.t",
    ]);
  });

  it("has its sender repeat an event that could not be sent on", async () => {
    const url = "https://mine.test/again";
    await endpoint("owner", url, ["open.again"]);
    const body = '{"event_id":"e2","type":"again"}';
    fails = true;
    expect(await event("open", body)).toBe(503);
    expect(await event("open", body)).toBe(200);
    expect(await got(url)).toHaveLength(1);
  });

  it("keeps an event that is too large to be sent on", async () => {
    const url = "https://mine.test/large";
    await endpoint("owner", url, ["open.large"]);
    const body = JSON.stringify({ event_id: "e3", type: "large", text: "x".repeat(300_000) });
    expect(await event("open", body)).toBe(200);
    expect(await got(url)).toEqual([]);
  });

  it("is refused at start with a filter that is not one", () => {
    const forward = { filter: { plan: { $regex: "x" } } };
    const sources = { bad: { scheme: "generic", secret: SECRET, forward } };
    expect(() => webhooks({ platform, auth: "off", sources })).toThrow("forward.filter");
  });
});
