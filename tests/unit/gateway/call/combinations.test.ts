import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Hono } from "hono";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import type { Platform } from "../../../../core/ports.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let serial = 0;
let app: Hono;
const works: Promise<unknown>[] = [];

beforeAll(async () => {
  gate = await gatewayUnderTest();
  const { system } = gate.platform;
  const waitUntil = (work: Promise<unknown>): void => {
    works.push(work);
    system.waitUntil(work);
  };
  app = another({ ...gate.platform, system: { ...system, waitUntil } });
  await gate.send("open/openai/x", jsonInit(chat));
  await policies("FLAG");
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
});

/** What DLP does about card numbers in answers. */
async function policies(action: "FLAG" | "BLOCK"): Promise<void> {
  const dlp = {
    enabled: true,
    policies: [{ id: "p", enabled: true, action, check: ["RESPONSE"], profiles: ["financial"] }],
  };
  const { body } = await gate.manage("/gateways/open");
  const { status } = await gate.manage("/gateways/open", {
    method: "PUT",
    ...jsonInit({ ...(body.result as object), dlp, cache_invalidate_on_update: false }),
  });
  expect(status).toBe(200);
}

const fresh = () => ({ ...chat, stream: true, user: `together-${serial++}` });
const CONTROLS = {
  "cf-aig-cache-ttl": "600",
  "cf-aig-request-timeout": "20000",
  "cf-aig-max-attempts": "3",
  "cf-aig-retry-delay": "1",
};
const send = async (
  body: unknown,
  signal?: AbortSignal,
  at = app,
  more: Record<string, string> = {},
): Promise<Response> =>
  at.fetch(
    new Request("http://gateway.test/v1/acme/open/openai/x", {
      method: "POST",
      ...jsonInit(body, { ...CONTROLS, ...more }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
/** A process of its own on the same database. */
const another = (platform: Platform): Hono =>
  gatewayParts({ platform, auth: "off", gateways: { open: { authentication: false } } }).gateway;
const EVENTS = ['data: {"text":"4111 1111"}\n\n', 'data: {"text":" 1111 1111"}\n\n'];
/** A provider that fails once, and then streams. */
const unsteady = (): void => {
  let asked = 0;
  gate.transport.behave = async () => {
    await gate.platform.system.sleep(20);
    return asked++ === 0 ? jsonReply({}, 503) : streamReply(EVENTS);
  };
};

describe("identical streams with checks, a timeout, retries and the cache", () => {
  it("are one call with its retry, checked once, and a hit for another process", async () => {
    unsteady();
    const body = fresh();
    const all = await Promise.all(Array.from({ length: 5 }, () => send(body)));
    const texts = await Promise.all(all.map((response) => response.text()));
    expect(new Set(texts)).toEqual(new Set([EVENTS.join("")]));
    expect(all.filter(({ headers }) => headers.has("cf-aig-dlp")).length).toBe(1);
    expect(gate.transport.requests.length).toBe(2);
    await Promise.all(works.splice(0));
    const hit = await send(body, undefined, another(gate.platform));
    expect(hit.headers.get("cf-aig-cache-status")).toBe("HIT");
    expect(await hit.text()).toBe(EVENTS.join(""));
    expect(gate.transport.requests.length).toBe(2);
  });

  it("go on for the others when the first client leaves", async () => {
    unsteady();
    const body = fresh();
    const client = new AbortController();
    const first = send(body, client.signal).catch(() => null);
    const others = [send(body), send(body)];
    while (gate.transport.requests.length < 2) await gate.platform.system.sleep(5);
    client.abort();
    await first;
    for (const other of others) expect(await (await other).text()).toBe(EVENTS.join(""));
    expect(gate.transport.requests.length).toBe(2);
  });

  it("leave a row also of a client that left while it waited for another's answer", async () => {
    const { promise: gateway, resolve: open } = Promise.withResolvers<void>();
    gate.transport.behave = async () => {
      await gateway;
      return streamReply(EVENTS);
    };
    const body = fresh();
    const leader = send(body);
    while (gate.transport.requests.length === 0) await gate.platform.system.sleep(5);
    const client = new AbortController();
    const event = `left-${serial++}`;
    const follower = send(body, client.signal, app, { "cf-aig-event-id": event });
    await gate.platform.system.sleep(100);
    client.abort();
    await follower.catch(() => null);
    open();
    await (await leader).text();
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ success: false, cached: false });
  });

  it("are all held back, and not kept, where the check blocks", async () => {
    await policies("BLOCK");
    unsteady();
    const body = fresh();
    const all = await Promise.all(Array.from({ length: 3 }, () => send(body)));
    expect(all.map(({ status }) => status)).toEqual([400, 400, 400]);
    for (const response of all) expect(await response.text()).not.toContain("4111");
    const before = gate.transport.requests.length;
    expect((await send(body)).status).toBe(400);
    expect(gate.transport.requests.length).toBe(before + 1);
    await policies("FLAG");
  });
});
