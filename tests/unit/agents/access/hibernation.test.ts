import { expect, it, vi } from "vitest";
import type { Connection } from "../../../../core/ports.ts";

/** What the sockets of an object do here; its other types are those of Workers, which no other program reads. */
interface ObjectSockets {
  heard(socket: object): void;
  readonly vanished: { end(): readonly Connection[] };
}

const module = "../../../../adapters/workers/objects/object-sockets.ts";

it("a client that pinged once and goes on talking stays when the object has slept", async () => {
  vi.stubGlobal("WebSocketRequestResponsePair", vi.fn());
  const { objectSockets } = (await import(/* @vite-ignore */ module)) as {
    readonly objectSockets: (ctx: object, system: object) => ObjectSockets;
  };
  let now = 1_000_000;
  let attachment: unknown = { tags: [], since: now };
  const closed: number[] = [];
  const socket = {
    readyState: 1,
    deserializeAttachment: () => structuredClone(attachment),
    serializeAttachment: (value: unknown) => (attachment = structuredClone(value)),
    close: (code: number) => closed.push(code),
  };
  const ctx = {
    setWebSocketAutoResponse: () => undefined,
    getWebSockets: () => [socket],
    getTags: () => ["one"],
    getWebSocketAutoResponseTimestamp: () => new Date(1_000_000),
  };
  // All that an object remembers in memory ends with its hibernation.
  const woken = (): ObjectSockets => objectSockets(ctx, { now: () => now });
  now += 50_000;
  woken().heard(socket);
  now += 59_000;
  expect(woken().vanished.end()).toEqual([]);
  now += 2000;
  expect(woken().vanished.end()).toHaveLength(1);
  expect(closed).toEqual([1001]);
  vi.unstubAllGlobals();
});
