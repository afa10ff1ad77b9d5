import { describe, expect, it } from "vitest";
import { localConnection } from "../../adapters/shared/connection.ts";

describe("localConnection()", () => {
  it("closes with 1013 a client whose messages come faster than they are handled, however small", () => {
    let handed = 0;
    const closed: number[] = [];
    const connection = localConnection(
      "id",
      {},
      { maxBuffered: 1024, maxMessage: 1024 * 1024 },
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
});
