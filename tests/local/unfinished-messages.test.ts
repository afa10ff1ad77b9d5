import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { unfinishedMessages } from "../../adapters/node/unfinished.ts";
import { itUnless } from "../config/it-unless.ts";
import { host } from "../config/shared.ts";
import { rawSocket } from "../http/raw-socket.ts";
import { serve } from "./command/run-command.ts";

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

const LENGTH = 9_000_000;

/** The head of a client's frame of this length; its mask is zero (RFC 6455, section 5.2). */
function frameHead(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

itUnless(
  host === "node"
    ? undefined
    : "Bun and Deno keep the parts of a message where no program sees them",
)(
  "a server ends the connection whose unfinished message is the oldest when they take too much memory",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "causey-unfinished-"));
    const file = join(folder, "causey.json");
    writeFileSync(file, '{"gateway":{"gateways":{"open":{"authentication":false}}}}');
    // A quarter of the heap is for them.
    const env = { NODE_OPTIONS: "--max-old-space-size=160", CAUSEY_NO_DEMO: "1" };
    const server = await serve(folder, ["--config", file], env);
    try {
      const url = new URL("/v1/local/open", server.url);
      const all = await Promise.all(Array.from({ length: 9 }, () => rawSocket(url)));
      for (const one of all) {
        await one.send(frameHead(1, LENGTH));
        await one.send(Buffer.alloc(LENGTH - 1, "x"));
      }
      await all[0]?.drain();
      const last = all.at(-1);
      await last?.send(Buffer.from("x"));
      await last?.send(Buffer.concat([frameHead(8, 2), Buffer.from([3, 232])]));
      expect((await last?.drain())?.texts.join()).toContain("error");
      for (const one of all) one.destroy();
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
