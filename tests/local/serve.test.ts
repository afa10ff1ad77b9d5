import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { host } from "../config/shared.ts";
import { eventually } from "../cases/eventually.ts";
import { exitOf, lineWith, start, type Child } from "./runtimes.ts";

/** Sends bytes and collects the answer until it is enough, or the server closes. */
async function raw(
  url: string,
  text: string,
  isEnough: (answer: string) => boolean | Promise<boolean>,
): Promise<string> {
  let answer = "";
  const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(text));
  socket.on("data", (chunk) => {
    answer += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    answer += "<closed>";
  });
  await eventually(
    async () => isClosed(answer) || (await isEnough(answer)),
    "the answer is enough",
  );
  socket.destroy();
  return answer;
}

const isClosed = (answer: string): boolean => answer.endsWith("<closed>");

const hasHead = (answer: string): boolean => answer.includes("\r\n\r\n");
const hasEvent = (answer: string): boolean => answer.includes("data: 1");
const statusOf = (answer: string): number => Number(answer.split(" ")[1]);

/** Unlike `child.kill()` on Deno, which sends only one signal and then reports it as how the child ended. */
function terminate(child: Child): void {
  if (child.pid !== undefined) process.kill(child.pid, "SIGTERM");
}

/** Waits until a server that was asked to stop accepts no new connection. */
async function untilRefused(url: string): Promise<void> {
  const isRefused = (): Promise<boolean> =>
    fetch(url).then(
      () => false,
      () => true,
    );
  await eventually(isRefused, "no new connection is accepted");
}

interface Socket {
  readonly opened: Promise<void>;
  readonly closed: Promise<number>;
}

function webSocket(url: string): Socket {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener("close", ({ code }) => {
      resolve(code);
    });
  });
  socket.addEventListener("error", () => undefined);
  const opened = new Promise<void>((resolve) => {
    socket.addEventListener("open", () => {
      resolve();
    });
  });
  return { opened, closed };
}

describe(`serve() on ${host}`, () => {
  let server: Child;
  let url = "";
  const launch = async (): Promise<[Child, string]> => {
    const child = start(host, "serve-child.ts", [host]);
    const line = await lineWith(child, "listening");
    return [child, line.replace("listening ", "").trim()];
  };
  beforeAll(async () => {
    [server, url] = await launch();
  });
  afterAll(() => {
    server.kill("SIGKILL");
  });

  const count = async (what: "gone" | "waiting", at = url): Promise<number> =>
    (await (await fetch(`${at}/${what}`)).json()) as number;

  it("answers, with two Set-Cookie as two", async () => {
    expect(await (await fetch(url)).json()).toEqual({ ok: true });
    const cookies = (await fetch(`${url}/cookies`)).headers.getSetCookie();
    expect(cookies).toEqual(["a=1", "b=2"]);
  });

  it("answers with whatever kind of response the app returns", async () => {
    expect(await (await fetch(`${url}/native`)).text()).toBe("native");
    expect((await fetch(`${url}/spoofed`)).status).toBe(200);
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  });

  it("takes and gives large bodies", async () => {
    const body = new Uint8Array(3_000_000).fill(7);
    expect(await (await fetch(`${url}/length`, { method: "POST", body })).json()).toBe(3_000_000);
    const echo = await fetch(`${url}/echo`, { method: "POST", body });
    expect((await echo.arrayBuffer()).byteLength).toBe(3_000_000);
  });

  it("declines a request with both Transfer-Encoding and Content-Length", async () => {
    const head =
      "POST /length HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n";
    expect(statusOf(await raw(url, `${head}5\r\nhello\r\n0\r\n\r\n`, hasHead))).toBe(400);
  });

  it("answers an upgrade that nobody accepts like any request", async () => {
    const head = "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n";
    const key = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    const answer = await raw(url, head + key, (text) => text.includes("}"));
    expect(statusOf(answer)).toBe(200);
    expect(answer).toContain('{"ok":true}');
  });

  it("streams the answer to an upgrade that nobody accepts, until the client leaves", async () => {
    const head =
      "GET /endless HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n";
    const key = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    const before = await count("gone");
    expect(await raw(url, head + key, hasEvent)).toContain("data: 1");
    await eventually(async () => (await count("gone")) > before, "the stream is cancelled");
  });

  itUnless(host === "deno" ? "Deno refuses such a request before the app is asked" : undefined)(
    "takes a request that offers another protocol as it is",
    async () => {
      const offer =
        "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n";
      const head = `POST /length HTTP/1.1\r\nhost: x\r\n${offer}content-length: 5\r\n\r\n`;
      const answer = await raw(url, `${head}hello`, (text) => /\r\n\r\n[^]*5/u.test(text));
      expect(statusOf(answer)).toBe(200);
      expect(answer.split("\r\n\r\n")[1]).toContain("5");
    },
  );

  it("breaks off a stream that fails, without telling why", async () => {
    const answer = await raw(url, "GET /broken HTTP/1.1\r\nhost: x\r\n\r\n", isClosed);
    expect(answer).toContain("data: 1");
    expect(answer).toMatch(/<closed>$/u);
    expect(answer).not.toContain("\r\n0\r\n\r\n");
    expect(answer).not.toContain("secret");
  });

  it("tells the app when the client leaves, before and during the answer", async () => {
    const before = await count("gone");
    await raw(
      url,
      "GET /wait HTTP/1.1\r\nhost: x\r\n\r\n",
      async () => (await count("waiting")) === 1,
    );
    await eventually(async () => (await count("gone")) === before + 1, "the signal aborts");
    await raw(url, "GET /endless HTTP/1.1\r\nhost: x\r\n\r\n", hasEvent);
    await eventually(async () => (await count("gone")) === before + 2, "the stream is cancelled");
  });

  it("says in one line what to do about a taken port", async () => {
    const port = new URL(url).port;
    const second = start(host, "serve-child.ts", [host, port]);
    const line = await lineWith(second, "failed");
    expect(line).toBe(
      `failed Port ${port} on 127.0.0.1 is in use: stop what listens there, or choose another with --port (0 = any free one)`,
    );
    expect(await exitOf(second)).toBe(1);
  });

  it("drains on SIGTERM: answers and streams end whole, sockets get 1001, the exit code is 0", async () => {
    const [child, at] = await launch();
    const socket = webSocket(at);
    await socket.opened;
    const slow = fetch(`${at}/slow`).then((response) => response.text());
    const events = (await fetch(`${at}/events`)).text();
    await eventually(async () => (await count("waiting", at)) === 1, "the slow request is there");
    terminate(child);
    await untilRefused(at);
    expect(await slow).toBe("slow but whole");
    expect((await events).match(/data/gu)).toHaveLength(10);
    expect(await socket.closed).toBe(1001);
    expect(await exitOf(child)).toBe(0);
  });

  it("ends at once on a second signal", async () => {
    const [child, at] = await launch();
    const endless = (await fetch(`${at}/endless`)).text().catch(() => "cut");
    terminate(child);
    await untilRefused(at);
    terminate(child);
    // By itself it would wait for ten minutes.
    expect(await exitOf(child)).not.toBe(0);
    expect(await endless).toBe("cut");
  });
});
