import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { PATIENCE_MS } from "../cases/eventually.ts";
import { type DialOptions, dialWebSocket } from "../../adapters/shared/egress/dial.ts";
import { proxyTunnel } from "../../adapters/shared/egress/proxy-tunnel.ts";
import type { DialRequest } from "../../core/net/duplex.ts";
import { parseAllowHosts } from "../../core/net/allow-hosts.ts";
import { TransportError } from "../../core/net/transport-error.ts";

let server: Server | undefined;
const open = new Set<Socket>();
afterEach(() => {
  for (const socket of open) socket.destroy();
  server?.close();
});

/** A proxy that does this with every connection once something was asked. */
async function proxy(answer: (socket: Socket, asked: string) => void): Promise<URL> {
  server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", (asked) => {
      answer(socket, asked.toString());
    });
  });
  const port = await new Promise<number>((resolve) => {
    server?.listen(0, "127.0.0.1", () => {
      const address = server?.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  return new URL(`http://us%40er:s3cret@127.0.0.1:${port}`);
}

const never = new AbortController().signal;

/** Asks for a WebSocket as the platform does. */
function dial(url: string, more: Partial<DialRequest>, options: Partial<DialOptions>) {
  const request = {
    url,
    headers: [],
    reach: "configured" as const,
    signal: never,
    timeoutMs: PATIENCE_MS,
  };
  return dialWebSocket(
    { ...request, ...more },
    {
      allow: parseAllowHosts(["127.0.0.1"]),
      pins: () => Promise.resolve(true),
      proxyFor: () => null,
      passesProxy: false,
      ...options,
    },
  );
}

describe("proxyTunnel()", () => {
  it("asks for the host, and hands over what is open", async () => {
    let asked = "";
    const by = await proxy((socket, text) => {
      asked = text;
      socket.write("HTTP/1.1 200 Connection established\r\nvia: x\r\n\r\n");
      socket.on("data", (data) => socket.write(data));
    });
    for (const [url, target] of [
      ["ws://site.test/a", "site.test:80"],
      ["ws://[2001:db8::1]:81/", "[2001:db8::1]:81"],
    ] as const) {
      const socket = await proxyTunnel(by, url, 5000, never);
      expect(asked.split("\r\n")).toEqual([
        `CONNECT ${target} HTTP/1.1`,
        `Host: ${target}`,
        `Proxy-Authorization: Basic ${btoa("us@er:s3cret")}`,
        "",
        "",
      ]);
      const echo = new Promise((resolve) => socket.once("data", resolve));
      socket.write("hello");
      expect(String(await echo)).toBe("hello");
      socket.destroy();
    }
  });

  it.each([
    ["refuses", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", /\(407\)/],
    ["is no proxy", "220 mail.test ESMTP\r\n\r\n", /did not open/],
    ["speaks for the other side", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 x\r\n\r\n", /did not open/],
    ["says too much", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(20_000)}`, /did not open/],
  ])("fails when the proxy %s", async (_, answer, message) => {
    let ended: Promise<unknown> | undefined;
    const by = await proxy((socket) => {
      ended = new Promise((resolve) => socket.once("close", resolve));
      socket.write(answer);
      socket.resume();
    });
    const failure = await proxyTunnel(by, "wss://site.test/", 5000, never).catch(String);
    expect(failure).toMatch(message);
    expect(failure).not.toMatch(/s3cret|127\.0/);
    await ended;
  });

  it("fails when the proxy hangs up, is silent, or is not there", async () => {
    const gone = await proxy((socket) => socket.end());
    await expect(proxyTunnel(gone, "ws://site.test/", 5000, never)).rejects.toThrow(/not open/);
    server?.close();
    const silent = await proxy(() => undefined);
    await expect(proxyTunnel(silent, "ws://site.test/", 50, never)).rejects.toThrow(/not open/);
    server?.close();
    for (const socket of open) socket.destroy();
    await expect(proxyTunnel(silent, "ws://site.test/", 5000, never)).rejects.toThrow();
    await expect(
      proxyTunnel(new URL("socks5://127.0.0.1:1"), "ws://site.test/", 5000, never),
    ).rejects.toThrow(/HTTP proxies only/);
  });

  it("ends the connection when it is given up", async () => {
    const left = new AbortController();
    let ended: Promise<unknown> | undefined;
    const by = await proxy((socket) => {
      ended = new Promise((resolve) => socket.once("close", resolve));
      left.abort();
    });
    await expect(proxyTunnel(by, "ws://site.test/", 5000, left.signal)).rejects.toMatchObject({
      reason: "aborted",
    });
    await ended;
    await expect(proxyTunnel(by, "ws://site.test/", 5000, left.signal)).rejects.toMatchObject({
      reason: "aborted",
    });
  });
});

describe("a WebSocket through a hostile proxy", () => {
  const opened = "HTTP/1.1 200 OK\r\n\r\n";

  /** What becomes of it, and when the proxy's side of the connection is over. */
  async function fate(url: string, answer: (socket: Socket, asked: string) => void) {
    let over: Promise<unknown> = Promise.resolve();
    const by = await proxy((socket, asked) => {
      over = new Promise((resolve) => socket.once("close", resolve));
      answer(socket, asked);
    });
    const failure = await dial(url, { timeoutMs: 500 }, { proxyFor: () => by }).catch(
      (error: unknown) => error,
    );
    return { failure, over };
  }

  it.each([
    [
      "drips its answer",
      "ws:",
      (socket: Socket) => {
        const dripping = setInterval(() => socket.write("x"), 20);
        socket.once("close", () => clearInterval(dripping));
      },
    ],
    [
      "talks before it is asked",
      "ws:",
      (socket: Socket) => {
        socket.write(opened);
        setTimeout(() => socket.write("\u0000garbage\r\n\r\n".repeat(50)), 20);
      },
    ],
    [
      "talks in place of TLS",
      "wss:",
      (socket: Socket) => {
        socket.write(opened);
        socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
      },
    ],
    [
      "goes at once",
      "wss:",
      (socket: Socket) => {
        socket.write(opened, () => socket.resetAndDestroy());
      },
    ],
    [
      "breaks off after it has opened the way",
      "ws:",
      (socket: Socket) => {
        socket.write(opened, () => socket.resetAndDestroy());
      },
    ],
    [
      "stays silent behind the way",
      "wss:",
      (socket: Socket) => {
        socket.write(opened);
        socket.resume();
      },
    ],
    [
      "asks for another password",
      "ws:",
      (socket: Socket) => {
        socket.write(
          `HTTP/1.1 407 No\r\nproxy-authenticate: Basic realm="${"x".repeat(60_000)}"\r\n\r\n`,
        );
        socket.resume();
      },
    ],
    [
      "leads elsewhere",
      "ws:",
      (socket: Socket) => {
        socket.write("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\n\r\n");
        socket.resume();
      },
    ],
  ])("fails, and leaves nothing open, when that %s", async (_, scheme, answer) => {
    const { failure, over } = await fate(`${scheme}//site.test/?key=s3cret`, answer);
    expect(failure).toBeInstanceOf(TransportError);
    expect(String(failure)).not.toMatch(/s3cret|127\.0|site\.test/);
    await over;
  });

  it("tells it no more than a host and a port, whatever the address holds", async () => {
    const seen: string[] = [];
    const url = "wss://us:pw@SITE.test:8443/a%0d%0aX-Evil:1?q=%0d%0a#f";
    await fate(url, (socket, asked) => {
      seen.push(...asked.split("\r\n"));
      socket.end("HTTP/1.1 403 No\r\n\r\n");
    });
    expect(seen).toEqual([
      "CONNECT site.test:8443 HTTP/1.1",
      "Host: site.test:8443",
      expect.stringMatching(/^Proxy-Authorization: Basic /),
      "",
      "",
    ]);
  });

  it("shows no password that cannot be read", async () => {
    const by = await proxy((socket) => socket.end());
    by.password = "s3cret%zz";
    const failure = await dial("ws://site.test/", {}, { proxyFor: () => by }).catch(String);
    expect(failure).toContain("TransportError");
    expect(failure).not.toMatch(/s3cret|zz/);
  });

  it("is not how what a caller steers is reached", async () => {
    let asked = 0;
    const by = await proxy(() => (asked += 1));
    const options = {
      proxyFor: () => {
        asked += 1;
        return by;
      },
      resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 as const }]),
    };
    for (const passesProxy of [false, true])
      for (const url of ["ws://site.test:9/", "wss://site.test:9/", `ws://127.0.0.1:9/`])
        await expect(
          dial(url, { reach: "public", timeoutMs: 300 }, { ...options, passesProxy }),
        ).rejects.toBeInstanceOf(TransportError);
    expect(asked).toBe(0);
  });
});
