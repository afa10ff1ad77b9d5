import { expect, it, vi } from "vitest";
import { objectSockets } from "../../../../adapters/workers/objects/object-sockets.ts";

it("a client that pinged once and goes on talking stays when the object has slept", () => {
  vi.stubGlobal("WebSocketRequestResponsePair", vi.fn());
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
  // `as`: nothing else of an object's context is used. What an object remembers ends with its hibernation.
  const woken = (): ReturnType<typeof objectSockets> =>
    objectSockets(ctx as never, { now: () => now } as never);
  now += 50_000;
  woken().heard(socket as never);
  now += 59_000;
  expect(woken().vanished.end()).toEqual([]);
  now += 2000;
  expect(woken().vanished.end()).toHaveLength(1);
  expect(closed).toEqual([1001]);
  vi.unstubAllGlobals();
});
