import { describe, expect, it } from "vitest";
import { localConnection, type LocalConnection } from "../../adapters/shared/http/connection.ts";

describe("localConnection()", () => {
  it("closes with 1013 a client whose messages come faster than they are handled, however small", () => {
    let handed = 0;
    const closed: number[] = [];
    const connection = localConnection(
      "id",
      {},
      { maxBuffered: 1024, maxFrames: 256, framesWaitMs: 0, maxMessage: 1024 * 1024 },
      {
        message: () => {
          handed += 1;
          return new Promise(() => undefined);
        },
        gone: () => undefined,
        closed: () => undefined,
      },
    );
    connection.attach({
      buffered: () => 0,
      send: () => undefined,
      close: (code) => void closed.push(code),
      terminate: () => undefined,
    });
    connection.events.open();
    for (let i = 0; i < 10_000; i++) connection.events.message("");
    expect(closed).toEqual([1013]);
    expect(handed).toBeLessThan(5000);
    connection.events.close(1013, "");
  });

  it("closes with 1013 a client that has left 256 frames unsent for long enough, however small", () => {
    const socket = stuckSocket(0);
    let sent = 0;
    while (sent < 1000 && socket.connection.send("x")) sent += 1;
    expect(sent).toBe(256);
    expect(socket.closed).toEqual([1013]);
    socket.connection.events.close(1013, "");
  });

  it("takes a longer burst, bounded by what its frames cost", () => {
    const socket = stuckSocket(Number.POSITIVE_INFINITY);
    let sent = 0;
    while (sent < 100_000 && socket.connection.send("x")) sent += 1;
    expect(sent).toBeGreaterThan(1000);
    expect(sent).toBeLessThan(5000);
    expect(socket.closed).toEqual([1013]);
    socket.connection.events.close(1013, "");
  });

  it("takes as many frames as the client reads", () => {
    const socket = stuckSocket(0);
    for (let sent = 0; sent < 100; sent++) socket.connection.send("four");
    socket.drain(50 * 4);
    expect(socket.connection.queued).toBe(50);
    socket.drain(49 * 4 + 1);
    expect(socket.connection.queued).toBe(1);
    for (let sent = 0; sent < 10_000; sent++) {
      expect(socket.connection.send("four")).toBe(true);
      socket.drain(4);
    }
    expect(socket.connection.queued).toBe(1);
    socket.drain(10);
    expect(socket.connection.queued).toBe(0);
    expect(socket.closed).toEqual([]);
  });
});

/** A connection whose runtime sends nothing until `drain` takes bytes away. */
function stuckSocket(framesWaitMs: number): {
  readonly connection: LocalConnection;
  readonly closed: number[];
  drain(bytes: number): void;
} {
  const closed: number[] = [];
  let buffered = 0;
  const connection = localConnection(
    "id",
    {},
    { maxBuffered: 1024 * 1024, maxFrames: 256, framesWaitMs, maxMessage: 1024 },
    { message: () => Promise.resolve(), gone: () => undefined, closed: () => undefined },
  );
  connection.attach({
    buffered: () => buffered,
    send: (message) => void (buffered += message.length),
    close: (code) => void closed.push(code),
    terminate: () => undefined,
  });
  connection.events.open();
  return {
    connection,
    closed,
    drain: (bytes) => void (buffered = Math.max(0, buffered - bytes)),
  };
}
