// What only Durable Objects do; everything that all runtimes share is in tests/contract.
import { evictAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openPlatform } from "#platform";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";

const kind: ActorKind = {
  name: "box",
  schema: [],
  start: ({ sockets }) => ({
    methods: {
      connections: () =>
        sockets.connections().map(({ id, tags, attachment }) => ({ id, tags, attachment })),
      tagged: (tag: string) => sockets.connections(tag).length,
      flood: (frames: number) => {
        const [connection] = sockets.connections();
        let sent = 0;
        while (sent < frames && connection?.send("x".repeat(65_536))) sent += 1;
        return sent;
      },
    },
    fetch: async (request) => {
      if (request.headers.get("upgrade") === null)
        return new Response("plain", { headers: { "x-causey-actor-error": "%7B%7D" } });
      return sockets.accept(request, {
        id: request.headers.get("x-id") ?? "one",
        tags: ["red"],
        attachment: { n: 1 },
      });
    },
    onMessage: (connection, message) => {
      connection.attachment = { last: String(message) };
      connection.send(`echo ${String(message)}`);
    },
  }),
};

interface Client {
  readonly received: unknown[];
  readonly closed: number[];
  send(text: string): void;
}

let platform: Platform;
beforeEach(async () => {
  platform = await openPlatform();
  platform.actors.define(kind);
});
afterEach(() => platform.close());

async function connect(name: string, id: string = "one"): Promise<Client> {
  const request = new Request("http://x/", { headers: { upgrade: "websocket", "x-id": id } });
  const response = await platform.actors.get("box", name).fetch(request);
  const { webSocket } = response as Response & {
    readonly webSocket: WebSocket & { accept(): void };
  };
  const received: unknown[] = [];
  const closed: number[] = [];
  webSocket.addEventListener("message", (event) => {
    received.push(event.data);
  });
  webSocket.addEventListener("close", (event) => {
    closed.push(event.code);
  });
  webSocket.accept();
  return {
    received,
    closed,
    send: (text) => {
      webSocket.send(text);
    },
  };
}

test("an actor whose name is too long for the platform is found again by fetch() and call()", async () => {
  const ref = platform.actors.get("box", "ä".repeat(1024));
  expect(await (await ref.fetch(new Request("http://x/"))).text()).toBe("plain");
  await evictAllDurableObjects();
  expect(await ref.call("connections")).toEqual([]);
});

test("an actor's response cannot speak for the adapter", async () => {
  const response = await platform.actors.get("box", "a").fetch(new Request("http://x/"));
  await response.text();
  expect([...response.headers.keys()]).not.toContain("x-causey-actor-error");
});

test("connections outlive the object: id, tags and attachment are there after an eviction", async () => {
  const client = await connect("a");
  client.send("hi");
  await eventually(() => client.received.length === 1, "the echo");
  await evictAllDurableObjects();
  const ref = platform.actors.get("box", "a");
  expect(await ref.call("connections")).toEqual([
    { id: "one", tags: ["red"], attachment: { last: "hi" } },
  ]);
  expect([await ref.call("tagged", "red"), await ref.call("tagged", "one")]).toEqual([1, 0]);
  client.send("again");
  await eventually(() => client.received.length === 2, "the second echo");
  expect(client.received).toEqual(["echo hi", "echo again"]);
});

test("a frame ping is answered pong without the actor", async () => {
  const client = await connect("a");
  client.send("ping");
  await eventually(() => client.received.length === 1, "the pong");
  expect(client.received).toEqual(["pong"]);
});

test("an id in use gets its older connection closed with 1000", async () => {
  const older = await connect("a");
  await connect("a");
  await eventually(() => older.closed.length === 1, "the close");
  expect(older.closed).toEqual([1000]);
  await eventually(
    async () => (await platform.actors.get("box", "a").call("tagged", "red")) === 1,
    "one connection left",
  );
});

test("a burst far above the budget closes the connection with 1013, and no other", async () => {
  const flooded = await connect("a");
  const other = await connect("b");
  const sent = Number(await platform.actors.get("box", "a").call("flood", 1000));
  expect(sent).toBeGreaterThanOrEqual(16);
  expect(sent).toBeLessThan(1000);
  await eventually(() => flooded.closed.length === 1, "the close");
  expect([flooded.closed, other.closed]).toEqual([[1013], []]);
});

test("a message above 1 MiB closes the connection with 1009", async () => {
  const client = await connect("a");
  client.send("x".repeat(1024 * 1024 + 1));
  await eventually(() => client.closed.length === 1, "the close");
  expect(client.closed).toEqual([1009]);
});
