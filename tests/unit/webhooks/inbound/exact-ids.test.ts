import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { type AgentEvent, agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";
import {
  defineScheme,
  schemes,
  webhooks,
  webhooksManagement,
} from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import { receiver } from "../../../fakes/webhooks-receiver.ts";
import { SECRET as secret, signedRequest } from "../../../fakes/webhooks-sender.ts";

const seen: AgentEvent[] = [];
const relay = defineAgent({
  name: "relay",
  async onEvent(agent, event) {
    seen.push(event);
    await agent.webhooks.send({ type: "relayed", json: event.text ?? "null" });
  },
});

const egress = receiver();
let platform: Platform;
let app: Hono;
beforeAll(async () => {
  platform = { ...(await openPlatform()), egress };
  const byTenant = { from: "payload", path: "tenant.id" } as const;
  const batch = defineScheme({ ...schemes.generic, entity: "tenant.id", batch: true });
  const sources = {
    numbers: { scheme: "generic", secret, entity: byTenant },
    lists: { scheme: batch, secret },
    relayed: { scheme: "generic", secret, entity: byTenant, agent: "relay" },
  };
  app = new Hono();
  app.route("/webhooks", webhooks({ platform, sources }));
  app.route("/", webhooksManagement({ platform, sources, auth: "off" }));
  app.route("/agents", agents({ platform, auth: "off", agents: [relay], sendsWebhooks: true }));
});
afterAll(() => platform.close());

interface Stored {
  readonly id: string;
  readonly entity: string;
  readonly status: string;
}

async function post(path: string, body: string): Promise<Stored & { events?: Stored[] }> {
  const response = await app.fetch(await signedRequest(`/webhooks/${path}`, body));
  expect(response.status).toBe(200);
  return ((await response.json()) as { result: Stored }).result;
}

async function payloads(entity: string, kind = "webhook-agent"): Promise<(string | null)[]> {
  const ref = platform.actors.get(`agent:${kind}`, entity);
  return ((await ref.call("getEvents", 100)) as EventRecord[]).map(({ payload }) => payload);
}

describe("numbers that JavaScript would round", () => {
  it("tell events apart", async () => {
    const body = (id: string): string => `{"id":${id},"tenant":{"id":1}}`;
    const ids = ["9007199254740992", "9007199254740993", "1e400", "2e400", "-0", "0", "1.0"];
    for (const id of ids)
      expect(await post("numbers", body(id))).toMatchObject({ id, status: "processed" });
    for (const id of ids)
      expect(await post("numbers", body(id))).toMatchObject({ id, status: "duplicate" });
    expect(await payloads("1")).toEqual(ids.map(body).toReversed());
  });

  it("tell entities apart", async () => {
    const body = (tenant: string): string => `{"id":"one","tenant":{"id":${tenant}}}`;
    for (const tenant of ["12345678901234567890", "12345678901234567891"]) {
      const stored = await post("numbers", body(tenant));
      expect(stored).toMatchObject({ entity: tenant, status: "processed" });
      expect(await payloads(tenant)).toEqual([body(tenant)]);
    }
  });

  it("tell the events of a list apart, each stored as it was written", async () => {
    const events = ["9007199254740993", "9007199254740992"].map(
      (id) => `{ "id": ${id}, "n":1.0, "s":"\\u00e9", "tenant":{"id":${id}} }`,
    );
    const { events: stored = [] } = await post("lists", `[ ${events.join(" , ")}\n]`);
    expect(stored.map(({ entity, id }) => [entity, id])).toEqual([
      ["9007199254740993", "9007199254740993"],
      ["9007199254740992", "9007199254740992"],
    ]);
    for (const [index, { entity }] of stored.entries())
      expect(await payloads(entity)).toEqual([events[index]]);
  });

  it("count as the member that parsers keep", async () => {
    const stored = await post(
      "numbers",
      '{"id":1,"\\u0069d":9007199254740993,"tenant":{"id":"d"}}',
    );
    expect(stored.id).toBe("9007199254740993");
  });
});

const EXACT = '{"n":12345678901234567890,"a":1.0, "s":"\\u00e9"}';

async function manage(method: string, path: string, body?: string): Promise<number> {
  const url = `http://causey.test/accounts/local/webhooks${path}`;
  return (await app.fetch(new Request(url, { method, ...(body && { body }) }))).status;
}

const bodiesTo = (url: string): string[] =>
  egress.received.filter((one) => one.url === url).map(({ body }) => body);

describe("an outbound payload", () => {
  it("is sent as it was given, byte for byte", async () => {
    const url = "https://exact.test/sent";
    await manage("POST", "/endpoints", JSON.stringify({ url, types: ["exact"] }));
    for (const payload of [EXACT, "1e400", "-0", '"\\u00e9"', "[ 1.0 ]"])
      expect(await manage("POST", "/send", `{ "type":"exact", "payload": ${payload} }`)).toBe(202);
    await eventually(() => bodiesTo(url).length === 5, "all are sent");
    expect(bodiesTo(url).toSorted()).toEqual(
      [EXACT, "1e400", "-0", '"\\u00e9"', "[ 1.0 ]"].toSorted(),
    );
  });

  it("is what an agent got, where it passes an event on", async () => {
    const url = "https://exact.test/relayed";
    await manage("POST", "/endpoints", JSON.stringify({ url, types: ["relayed"] }));
    const body = `{"id":"r","tenant":{"id":"t"},"exact":${EXACT}}`;
    await post("relayed", body);
    await eventually(() => bodiesTo(url).length === 1, "it is sent");
    expect(bodiesTo(url)).toEqual([body]);
    expect(seen.map(({ text }) => text)).toEqual([body]);
  });
});
