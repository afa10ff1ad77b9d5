import type { TestSocket } from "./open-platform.d.ts";

/** What the four runtimes' WebSockets have in common. */
interface Client {
  binaryType: string;
  readonly protocol: string | null;
  send(message: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(
    type: "close",
    listener: (event: { code: number; reason: string }) => void,
  ): void;
  addEventListener(type: "error", listener: () => void): void;
}

interface Waiting {
  resolve(message: string | Uint8Array): void;
  reject(error: Error): void;
}

/** A queue of what a client receives. */
export function testSocket(client: Client): TestSocket {
  client.binaryType = "arraybuffer";
  const received: (string | Uint8Array)[] = [];
  const waiting: Waiting[] = [];
  let isOver = false;
  client.addEventListener("message", ({ data }) => {
    const message = typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer);
    const first = waiting.shift();
    if (first === undefined) received.push(message);
    else first.resolve(message);
  });
  client.addEventListener("error", () => undefined);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    client.addEventListener("close", ({ code, reason }) => {
      isOver = true;
      for (const one of waiting) one.reject(new Error(`Closed with ${code}`));
      resolve({ code, reason });
    });
  });
  return {
    closed,
    get protocol() {
      return client.protocol ?? "";
    },
    next() {
      const message = received.shift();
      if (message !== undefined) return Promise.resolve(message);
      if (isOver) return Promise.reject(new Error("Closed"));
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
      });
    },
    send: (message) => {
      client.send(message as string | Uint8Array<ArrayBuffer>);
    },
    close: (code, reason) => {
      client.close(code, reason);
    },
  };
}
