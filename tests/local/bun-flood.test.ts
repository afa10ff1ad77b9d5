import { expect, it } from "vitest";
import { floodGuard } from "../../adapters/bun/flood-guard.ts";

interface Handler {
  message(socket: object, message: string): void;
}

const runtime = "bun";
// Bun's types would take the place of the other ones in all tests.
const { websocket } = (await import(`../../adapters/${runtime}/sockets.ts`)) as {
  readonly websocket: Handler;
};

it("a client that sends more than 5,000 messages in one turn floods", () => {
  const isFlood = floodGuard();
  for (let at = 0; at < 5000; at++) expect(isFlood()).toBe(false);
  expect(isFlood()).toBe(true);
});

it("the connection of a client that floods is closed, and the client told why", () => {
  const closes: unknown[] = [];
  let heard = 0;
  const events = { open() {}, message: () => void (heard += 1), close() {} };
  const socket = {
    data: { events, socket: undefined, isFlood: floodGuard() },
    close: (...how: unknown[]) => void closes.push(how),
  };
  for (let at = 0; at < 5001; at++) websocket.message(socket, "a");
  expect([heard, closes]).toEqual([5000, [[1013, "Too many messages at once"]]]);
});

it("a client may send as many as it likes in several turns", async () => {
  const isFlood = floodGuard();
  for (let turn = 0; turn < 10; turn++) {
    for (let at = 0; at < 2000; at++) expect(isFlood()).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
  }
});
