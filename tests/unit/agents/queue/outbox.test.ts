import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import {
  agents,
  defineAgent,
  getAgentByName,
  type OutboundWebhook,
} from "../../../../core/agents/mod.ts";
import type { Actor, ActorContext, ActorKind, Actors, Platform } from "../../../../core/ports.ts";
import { webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { eventually, LONG } from "../../../cases/eventually.ts";
import { receiver } from "../../../fakes/webhooks-receiver.ts";

const notes: string[] = [];

const shop = defineAgent({
  name: "Shop",
  initialState: { sold: 0 },
  schema: ["CREATE TABLE IF NOT EXISTS shop_sales (actor TEXT NOT NULL, n INTEGER NOT NULL)"],
  validateState(state) {
    if (state.sold > 99) throw new Error("sold out");
  },
  onStateChanged: (_agent, state) => void notes.push(`now ${state.sold}`),
  callable: {
    send: (agent, message: OutboundWebhook) => agent.webhooks.send(message),
    sendTogether: (agent, count: number) =>
      agent.transaction((tx) => {
        for (let n = 0; n < count; n++) tx.webhooks.send({ type: "x", payload: n });
      }),
    sell: (agent, n: number, table: string) =>
      agent.transaction((tx) => {
        tx.setState({ sold: agent.state.sold + n });
        void tx.sql`INSERT INTO shop_sales (actor, n) VALUES (${agent.key}, ${n})`;
        if (table !== "")
          void tx.sql`INSERT INTO shop_sales (actor, n) VALUES (${agent.key}, ${null})`;
        void tx.sql`SELECT n FROM shop_sales WHERE actor = ${agent.key} ORDER BY n`;
        tx.webhooks.send({ type: "shop.sold", payload: { n } });
      }),
    async late(agent) {
      let kept = (): void => undefined;
      await agent.transaction((tx) => {
        kept = () => tx.setState({ sold: -1 });
      });
      kept();
    },
    slow: (agent) =>
      // What TypeScript allows although it comes too late.
      agent.transaction((tx) => Promise.resolve().then(() => tx.setState({ sold: -1 })) as never),
    state: (agent) => agent.state,
    async emptied(agent, message: OutboundWebhook) {
      await agent.webhooks.send(message);
      return [await agent.getQueues(), await agent.dequeueAll()];
    },
    async leave(agent, message: OutboundWebhook) {
      await agent.webhooks.send(message);
      await agent.destroy();
    },
    dead: (agent) => agent.deadLetters(),
  },
});
const mute = defineAgent({
  name: "mute",
  callable: { send: (agent) => agent.webhooks.send({ type: "x", payload: 1 }) },
});

const egress = receiver();
let platform: Platform;
let alone: Platform;
let outbound: ReturnType<typeof webhooksManagement>;
beforeAll(async () => {
  platform = await openPlatform();
  outbound = webhooksManagement({
    platform: { ...platform, egress },
    auth: "off",
    sources: {},
  });
  agents({ platform, auth: "off", agents: [shop], sendsWebhooks: true });
  alone = await openPlatform();
  agents({ platform: alone, auth: "off", agents: [mute] });
});
afterAll(async () => {
  await platform.close();
  await alone.close();
});
beforeEach(() => void (notes.length = 0));

/** How many messages the queue of the account, or of an application, has taken. */
async function messages(of = "local"): Promise<number> {
  const stats = await platform.actors.get("webhooks-outbound", of).call("stats");
  return (stats as { counters: { messages: number } }).counters.messages;
}

describe("agent.webhooks.send()", () => {
  it("hands a message to the account's outbound webhooks, once for each key", async () => {
    const before = await messages();
    const stub = getAgentByName(platform, shop, "a");
    await stub.send({ type: "shop.open", payload: { a: 1 }, idempotency_key: "k" });
    await eventually(async () => (await messages()) === before + 1, "the message arrives");
    await stub.send({ type: "shop.open", payload: { a: 1 }, idempotency_key: "k" });
    // The key is the instance's own.
    await getAgentByName(platform, shop, "b").send({
      type: "shop.open",
      payload: 1,
      idempotency_key: "k",
    });
    await stub.send({ type: "shop.open", payload: null });
    await eventually(async () => (await messages()) === before + 3, "the others arrive");
  });

  it("refuses another message under a key, while the first waits and after it was sent", async () => {
    const stub = getAgentByName(platform, shop, "keys");
    const first = { type: "shop.key", payload: { a: 1 }, idempotency_key: "k" };
    const conflict = { status: 409, message: expect.stringContaining("idempotency key") };
    const before = await messages();
    await stub.send(first);
    for (const other of [{ payload: { a: 2 } }, { type: "shop.other" }, { entity: "e" }])
      await expect(stub.send({ ...first, ...other })).rejects.toMatchObject(conflict);
    await eventually(async () => (await messages()) === before + 1, "the first arrives");
    await stub.send(first);
    await expect(stub.send({ ...first, payload: { a: 2 } })).rejects.toMatchObject(conflict);
  });

  it(
    "hands a message for an application to that one alone, whose keys are its own",
    LONG,
    async () => {
      for (const id of ["acme", "bolt"]) {
        const body = JSON.stringify({ id, messages_per_second: 1 });
        const path = "/accounts/local/webhooks/applications";
        expect((await outbound.request(path, { method: "POST", body })).status).toBe(201);
      }
      const before = await messages();
      const stub = getAgentByName(platform, shop, "tenants");
      const message = { type: "shop.open", payload: { a: 1 }, idempotency_key: "k" };
      await stub.send({ ...message, application: "acme" });
      await stub.send({ ...message, application: "bolt", payload: { a: 2 } });
      await eventually(async () => (await messages("local/acme")) === 1, "one arrives");
      await eventually(async () => (await messages("local/bolt")) === 1, "the other arrives");
      await expect(
        stub.send({ ...message, application: "acme", payload: { a: 2 } }),
      ).rejects.toMatchObject({ status: 409 });
      // Beyond its rate the message waits, and is not lost.
      await stub.send({ ...message, application: "acme", idempotency_key: "k2" });
      await eventually(async () => (await messages("local/acme")) === 2, "the second arrives");
      expect(await messages()).toBe(before);
      expect(await stub.dead()).toEqual([]);
      for (const application of ["", "a/b", 1 as never])
        await expect(stub.send({ ...message, application })).rejects.toThrow(
          "webhooks.send: application:",
        );
      await stub.send({ ...message, application: "nobody" });
      await eventually(async () => (await stub.dead()).length === 1, "the message is dead");
      expect(await stub.dead()).toMatchObject([
        { error: 'There is no webhook application "nobody"' },
      ]);
    },
  );

  it("refuses what can never be sent, where it is written", async () => {
    const stub = getAgentByName(platform, shop, "a");
    const misspelt = { type: "x", payload: 1, idempotencyKey: "k" } as never;
    await expect(stub.send(misspelt)).rejects.toThrow('did you mean "idempotency_key"?');
    const unknown = { type: "x", payload: 1, urgency: "high" } as never;
    await expect(stub.send(unknown)).rejects.toThrow('webhooks.send: Unknown field "urgency"');
    await expect(stub.send({ type: "", payload: 1 })).rejects.toMatchObject({ status: 400 });
    await expect(stub.send({ type: "x", payload: 1, entity: "" })).rejects.toThrow(
      "webhooks.send: entity:",
    );
    await expect(stub.send({ type: "x", payload: undefined })).rejects.toThrow();
    for (const json of ["", "{", 1 as never])
      await expect(stub.send({ type: "x", json })).rejects.toThrow("webhooks.send: json:");
    const long = "x".repeat(256 * 1024);
    await expect(stub.send({ type: "x", payload: long })).rejects.toMatchObject({ status: 413 });
    const longJson = stub.send({ type: "x", json: JSON.stringify(long) });
    await expect(longJson).rejects.toMatchObject({ status: 413 });
    await expect(getAgentByName(alone, mute, "a").send()).rejects.toThrow(
      'agent.webhooks needs the option "sendsWebhooks"',
    );
    expect(() => defineAgent({ name: "x", tasks: { "webhooks.send": () => 1 } })).toThrow(
      "rename yours",
    );
  });

  it("makes a dead letter of a message to an endpoint that does not exist", async () => {
    const stub = getAgentByName(platform, shop, "lost");
    await stub.send({ type: "x", payload: 1, endpoint_id: "ep_none" });
    await eventually(async () => (await stub.dead()).length === 1, "the message is dead");
    expect(await stub.dead()).toMatchObject([
      { task: "webhooks.send", attempts: 1, error: 'There is no webhook endpoint "ep_none"' },
    ]);
  });

  it("is not undone by emptying the queue, nor by destroy()", async () => {
    const before = await messages();
    const stub = getAgentByName(platform, shop, "leaving");
    expect(await stub.emptied({ type: "x", payload: 1 })).toEqual([[], 0]);
    await stub.leave({ type: "x", payload: 2 });
    await eventually(async () => (await messages()) === before + 2, "both arrive");
  });
});

/** The account's queue, which does not take the first message that it is given. */
function failingOnce(actors: Actors) {
  let calls = 0;
  const define = (kind: ActorKind): void => {
    if (kind.name !== "webhooks-outbound") return actors.define(kind);
    const start = async (context: ActorContext): Promise<Actor> => {
      const actor = await kind.start(context);
      const send = (...args: never[]): unknown => {
        if (++calls > 1) return actor.methods["send"]?.(...args);
        throw new Error("unreachable");
      };
      return { ...actor, methods: { ...actor.methods, send } };
    };
    actors.define({ ...kind, start });
  };
  return {
    actors: { get: (kind: string, name: string) => actors.get(kind, name), define },
    hasFailed: () => calls > 0,
  };
}

describe("messages of one instance", () => {
  it("do not overtake one that could not be handed over", LONG, async () => {
    const own = await openPlatform();
    const received = receiver();
    const queue = failingOnce(own.actors);
    const management = webhooksManagement({
      platform: { ...own, actors: queue.actors, egress: received },
      auth: "off",
      sources: {},
    });
    agents({ platform: own, auth: "off", agents: [shop], sendsWebhooks: true });
    const made = await management.request("/accounts/local/webhooks/endpoints", {
      method: "POST",
      body: JSON.stringify({ url: "https://receiver.example/ordered", ordered: true }),
    });
    expect(made.status).toBe(201);
    const stub = getAgentByName(own, shop, "ordered");
    // Those that are queued beside the first wait with it, and so do those that come while it waits.
    await stub.sendTogether(10);
    await eventually(queue.hasFailed, "the first has failed");
    for (let n = 10; n < 40; n++) await stub.send({ type: "x", payload: n });
    await eventually(() => received.received.length === 40, "all arrive");
    expect(received.received.map(({ body }) => Number(body))).toEqual(
      Array.from({ length: 40 }, (_, n) => n),
    );
    await own.close();
  });
});

describe("agent.transaction()", () => {
  it("writes state, rows and webhooks together", async () => {
    const before = await messages();
    const stub = getAgentByName(platform, shop, "together");
    expect(await stub.sell(2, "")).toEqual([[], [{ n: 2 }]]);
    expect(await stub.sell(3, "")).toEqual([[], [{ n: 2 }, { n: 3 }]]);
    expect(await stub.state()).toEqual({ sold: 5 });
    expect(notes).toEqual(["now 2", "now 5"]);
    await eventually(async () => (await messages()) === before + 2, "both messages arrive");
  });

  it("writes nothing when one of them fails", async () => {
    const before = await messages();
    const stub = getAgentByName(platform, shop, "none");
    // The column takes no null.
    await expect(stub.sell(1, "fails")).rejects.toThrow();
    await expect(stub.sell(100, "")).rejects.toThrow("sold out");
    expect(await stub.state()).toEqual({ sold: 0 });
    expect(notes).toEqual([]);
    expect(await stub.sell(1, "")).toEqual([[], [{ n: 1 }]]);
    await eventually(async () => (await messages()) > before, "the message arrives");
    expect(await messages()).toBe(before + 1);
  });

  it("takes only what is asked for at once", async () => {
    const stub = getAgentByName(platform, shop, "at once");
    await expect(stub.late()).rejects.toThrow("The transaction is over");
    await expect(stub.slow()).rejects.toThrow("takes a function that is not async");
    expect(await stub.state()).toEqual({ sold: 0 });
  });
});
