import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, getAgentByName } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import { receiver } from "../../../fakes/webhooks-receiver.ts";
import { SECRET, signedRequest } from "../../../fakes/webhooks-sender.ts";

let platform: Platform;
let app: Hono;
let inbound: Hono;

const audit = defineAgent({
  name: "AuditLog",
  initialState: { texts: [] as string[] },
  onEvent: (agent, event) =>
    agent.setState({ texts: [...agent.state.texts, `${event.type} ${event.text}`] }),
  callable: { texts: (agent) => agent.state.texts },
});

beforeAll(async () => {
  platform = await openPlatform();
  const options = {
    platform: { ...platform, egress: receiver() },
    auth: "off",
    accountId: "owner",
    sources: { shop: { scheme: "generic", secret: SECRET, forward: true } },
    agentClasses: ["webhook-agent", "audit-log", "gone"],
  } as const;
  app = webhooksManagement(options);
  inbound = webhooks(options);
  agents({ platform, auth: "off", agents: [audit] });
});
afterAll(() => platform.close());

interface Answer<T> {
  readonly status: number;
  readonly text: string;
  readonly result: T;
}

async function api<T = { id: string }>(
  method: string,
  path: string,
  body?: object,
  account = "owner",
): Promise<Answer<T>> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const url = `http://causey.test/accounts/${account}/webhooks${path}`;
  const answer = await app.fetch(new Request(url, init));
  const text = await answer.text();
  const { result } = JSON.parse(text) as { result: T };
  return { status: answer.status, text, result };
}

const make = (url: string, more: object = {}): Promise<Answer<{ id: string }>> =>
  api("POST", "/endpoints", { url, ...more });

/** Waits until an instance has handled as many events; resolves to their texts. */
async function handled(name: string, count: number): Promise<readonly string[]> {
  const stub = getAgentByName(platform, audit, name);
  await eventually(async () => (await stub.texts()).length === count, `${count} events`);
  return stub.texts();
}

/** Sends a message; resolves to its delivery once that has ended. */
async function send(body: object): Promise<Readonly<Record<string, unknown>>> {
  const { result } = await api("POST", "/send", body);
  let ended: Readonly<Record<string, unknown>> | undefined;
  await eventually(async () => {
    const list = await api<Record<string, unknown>[]>("GET", `/deliveries?message_id=${result.id}`);
    ended = list.result.find(({ status }) => status !== "pending");
    return ended !== undefined;
  }, "the delivery ends");
  return ended ?? {};
}

describe("an endpoint that is an agent", () => {
  it("gets what its types and filter take, in the instance that it names", async () => {
    const filter = { n: { $gte: 2 } };
    await make("agent:audit-log/all", { types: ["order.*"], filter });
    await send({ type: "order.paid", payload: { n: 2 } });
    await api("POST", "/send", { type: "order.paid", payload: { n: 1 } });
    await api("POST", "/send", { type: "other", payload: { n: 3 } });
    await send({ type: "order.lost", payload: { n: 3 } });
    expect(await handled("all", 2)).toEqual(['order.paid {"n":2}', 'order.lost {"n":3}']);
  });

  it("is the instance of the message's entity, where it names none", async () => {
    await make("agent:AuditLog", { types: ["by.entity"] });
    await send({ type: "by.entity", payload: 1, entity: "a" });
    await send({ type: "by.entity", payload: 2 });
    expect([await handled("a", 1), await handled("default", 1)]).toEqual([
      ["by.entity 1"],
      ["by.entity 2"],
    ]);
  });

  it("handles a delivery once, and a replay once more", async () => {
    await make("agent:audit-log/again", { types: ["again"] });
    const delivery = await send({ type: "again", payload: 1 });
    await handled("again", 1);
    await api("POST", `/deliveries/${String(delivery["id"])}/replay`);
    expect(await handled("again", 2)).toEqual(["again 1", "again 1"]);
  });

  it("gets the forwarded events of a source, whose own entity stays its own", async () => {
    await make("agent:audit-log/forwarded", { types: ["shop.*"] });
    await make("agent:webhook-agent", { types: ["shop.*"] });
    const request = await signedRequest("/shop/thing", { event_id: "e1", type: "paid" });
    expect((await inbound.fetch(request)).status).toBe(200);
    expect(await handled("forwarded", 1)).toEqual(['shop.paid {"event_id":"e1","type":"paid"}']);
    type Delivery = { readonly status: string; readonly last_error: string | null };
    await eventually(async () => {
      const { result } = await api<Delivery[]>("GET", "/deliveries?status=dead");
      return result.some(({ last_error }) => last_error?.includes('belongs to the source "shop"'));
    }, "the other is dead");
  });

  it("is refused to other accounts and to applications, and in other forms", async () => {
    await api("POST", "/applications", { id: "tenant" });
    const url = "agent:audit-log/all";
    const { result } = await make("https://receiver.test/x", { types: ["nothing"] });
    for (const [path, body, account] of [
      ["/endpoints", { url }, "stranger"],
      ["/applications/tenant/endpoints", { url }, "owner"],
      ["/endpoints", { url: "agent:" }, "owner"],
      ["/endpoints", { url: "agent:audit-log/a/b" }, "owner"],
      ["/endpoints", { url: "agent://audit-log/a" }, "owner"],
      ["/endpoints", { url: "agent:audit-log?x" }, "owner"],
      ["/endpoints", { url: "agent:audit-log/%zz" }, "owner"],
      ["/endpoints", { url: `agent:audit-log/${"x".repeat(1025)}` }, "owner"],
    ] as const)
      expect([path, body, (await api("POST", path, body, account)).status]).toEqual([
        path,
        body,
        400,
      ]);
    const made = await api("POST", "/applications/tenant/endpoints", { url: "https://a.test/x" });
    const path = `/applications/tenant/endpoints/${made.result.id}`;
    expect((await api("PATCH", path, { url })).status).toBe(400);
    expect((await api("PATCH", `/endpoints/${result.id}`, { url })).status).toBe(200);
  });

  it("tries again where the class is not there, and says so", async () => {
    const { result } = await make("agent:gone", { types: ["gone"], retry_delays_seconds: [] });
    const delivery = await send({ type: "gone", payload: 1 });
    expect(delivery).toMatchObject({ status: "dead", endpoint_id: result.id });
    expect(delivery["last_error"]).toContain("agent:gone");
  });

  it("is refused where no such class is served, with the one that was meant", async () => {
    const { result } = await make("https://receiver.test/y", { types: ["nothing"] });
    for (const [url, hint] of [
      ["agent:AuditLogs/all", 'did you mean "audit-log"?'],
      ["agent:nobody", "use one of webhook-agent, audit-log, gone"],
    ] as const) {
      for (const [method, path] of [
        ["POST", "/endpoints"],
        ["PATCH", `/endpoints/${result.id}`],
      ] as const) {
        const { status, text } = await api(method, path, { url });
        expect([status, text]).toEqual([
          400,
          expect.stringContaining(JSON.stringify(hint).slice(1, -1)),
        ]);
      }
    }
  });

  it("is also refused to sources that would feed it", async () => {
    const source = { name: "feeds", scheme: "generic", secret: SECRET, agent: "AuditLogs" };
    const { status, text } = await api("POST", "/sources", source);
    expect([status, text]).toEqual([400, expect.stringContaining("audit-log")]);
    const served = { ...source, agent: "AuditLog" };
    expect((await api("POST", "/sources", served)).status).toBe(201);
  });
});
