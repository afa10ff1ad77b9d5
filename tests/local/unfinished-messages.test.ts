import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { unfinishedMessages } from "../../adapters/node/unfinished.ts";

const KB = 1024;

class FakeSocket extends EventEmitter {
  code = 0;
  isOver = false;
  close(code: number): void {
    this.code = code;
  }
  terminate(): void {
    this.isOver = true;
    this.emit("close");
  }
}

function connections(count: number): { open: FakeSocket; send: (bytes: number) => void }[] {
  const messages = unfinishedMessages(300 * KB);
  return Array.from({ length: count }, () => {
    const open = new FakeSocket();
    const wire = new EventEmitter();
    // `as`: the members that are used, of sockets that would need a server.
    messages.follow(
      open as unknown as Parameters<typeof messages.follow>[0],
      wire as unknown as Parameters<typeof messages.follow>[1],
    );
    return { open, send: (bytes) => wire.emit("data", new Uint8Array(bytes)) };
  });
}

it("the message that began first gives way when too many have not come whole", () => {
  const [first, second, third] = connections(3);
  for (const one of [first, second, third]) one?.send(100 * KB);
  expect(first?.open.isOver).toBe(false);
  second?.send(1);
  expect([first, second, third].map((one) => one?.open.isOver)).toEqual([true, false, false]);
  expect(first?.open.code).toBe(1013);
});

it("whole messages, pings and pongs take nothing", () => {
  const all = connections(20);
  for (const { open, send } of all) {
    for (let at = 0; at < 3; at++) {
      send(100 * KB);
      open.emit("message");
    }
    for (let at = 0; at < 20_000; at++) {
      send(6 + 4);
      open.emit(at % 2 === 0 ? "ping" : "pong", new Uint8Array(4));
    }
    send(60 * KB);
  }
  expect(all.some(({ open }) => open.isOver)).toBe(false);
});
