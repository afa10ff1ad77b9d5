import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, describe, expect } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { host } from "../config/shared.ts";
import { undiciTransport } from "../../adapters/shared/http/undici-transport.ts";

const elsewhere = host === "bun" ? "Bun sends through its own fetch" : undefined;

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function upstream(answer: (outgoing: ServerResponse, path: string) => void): Promise<string> {
  const server: Server = createServer((incoming, outgoing) => {
    incoming.resume();
    answer(outgoing, incoming.url ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function transport(silenceMs?: number): ReturnType<typeof undiciTransport> {
  const made = undiciTransport(silenceMs);
  closing.push(() => made.close());
  return made;
}

/** An upstream that keeps connections, and ends each when its second request comes. */
async function restarting(
  end: (socket: Socket) => void,
): Promise<{ readonly url: string; readonly requests: () => number }> {
  let requests = 0;
  const server = createTcpServer((socket) => {
    let isFirst = true;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      if (!/^(?:GET|POST) /.test(String(bytes))) return;
      requests += 1;
      if (isFirst) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      else end(socket);
      isFirst = false;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, requests: () => requests };
}

/** Until a connection whose answer has come is free again. */
const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 50));
const reset = (socket: Socket): void => void socket.resetAndDestroy();
const bytes = new Uint8Array(100);

describe("a connection that its peer closes as a request comes", () => {
  for (const [name, end] of [
    ["with a reset", reset],
    ["in good order", (socket: Socket): void => void socket.end()],
  ] as const)
    itUnless(elsewhere)(`${name} is left for another one`, async () => {
      const { url, requests } = await restarting(end);
      const { send } = transport();
      for (const body of [null, bytes, bytes, null]) {
        const method = body === null ? "GET" : "POST";
        const answer = await send({ method, url, headers: [], body });
        expect(new TextDecoder().decode(answer.body as Uint8Array)).toBe("ok");
        await pause();
      }
      // The second and the fourth were sent twice.
      expect(requests()).toBe(6);
    });

  itUnless(elsewhere)(
    "is the end of a body that streams, and of one that was answered",
    async () => {
      const { url } = await restarting(reset);
      const { send } = transport();
      const get = { method: "GET", url, headers: [] };
      await send(get);
      await pause();
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(bytes);
          controller.close();
        },
      });
      await expect(send({ ...get, method: "POST", body })).rejects.toMatchObject({
        reason: "unreachable",
      });
      const begun = await restarting((socket) => {
        socket.write("HTTP/1.1 20", () => setTimeout(() => socket.resetAndDestroy(), 50));
      });
      await send({ ...get, url: begun.url });
      await pause();
      await expect(send({ ...get, url: begun.url })).rejects.toMatchObject({
        reason: "unreachable",
      });
      expect(begun.requests()).toBe(2);
    },
  );

  itUnless(elsewhere)(
    "is the end of a request on a new one, and of one that was sent twice",
    async () => {
      let requests = 0;
      const server = createTcpServer((socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => {
          requests += 1;
          socket.resetAndDestroy();
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      closing.push(() => server.close());
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      await expect(transport().send({ method: "GET", url, headers: [] })).rejects.toMatchObject({
        reason: "unreachable",
      });
      expect(requests).toBe(1);
    },
  );
});

describe("undiciTransport()", () => {
  itUnless(elsewhere)("gives up on an upstream that is silent before its answer", async () => {
    const url = await upstream(() => undefined);
    const sent = transport(100).send({ method: "GET", url: `${url}/`, headers: [] });
    await expect(sent).rejects.toMatchObject({ reason: "unreachable" });
  });

  itUnless(elsewhere)("breaks off an answer that falls silent", async () => {
    const url = await upstream((outgoing) => outgoing.write("first"));
    const { body } = await transport(100).send({ method: "GET", url: `${url}/`, headers: [] });
    await expect(new Response(body as ReadableStream).text()).rejects.toMatchObject({
      reason: "broken",
    });
  });

  for (const [path, expected] of [
    ["/v1/models/a:b?alt=sse&x=1", "/v1/models/a:b?alt=sse&x=1"],
    ["/a%20b/%2Fc", "/a%20b/%2Fc"],
    ["/a/../b/./c", "/b/c"],
    ["/a/%2e%2e/b", "/b"],
    ["/ä?q=ü", "/%C3%A4?q=%C3%BC"],
    ["/a?q='#fragment", "/a?q=%27"],
  ] as const) {
    itUnless(elsewhere)(`sends ${path} as a URL parser writes it`, async () => {
      const url = await upstream((outgoing, asked) => outgoing.end(asked));
      const request = { method: "GET", url: `${url}${path}`, headers: [] };
      const { body } = await transport().send(request);
      expect(new TextDecoder().decode(body as Uint8Array)).toBe(expected);
    });
  }
});
