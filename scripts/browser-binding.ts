// The browser binding of Workers over a local Chromium, for `serve:workers`: the same paths and plain
// DevTools frames as the hosted service, with the egress guard that all runtimes of this machine share.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Browser, Wire } from "../core/ports.ts";

/** A local stand-in for the browser service, listening on a Unix socket: no port that others could open. */
export interface BrowserBinding {
  close(): Promise<void>;
}

/** Serves `/v1/acquire` and `/v1/devtools/browser/{session}` (upgrade, DELETE) at `socketPath`. */
export async function serveBrowserBinding(
  browser: Browser,
  socketPath: string,
): Promise<BrowserBinding> {
  const sessions = new Map<string, Wire>();
  const frames = new WebSocketServer({
    noServer: true,
    maxPayload: 256 * 1024 * 1024,
    perMessageDeflate: false,
  });

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://binding");
    const session = sessionOf(pathname);
    if (request.method === "GET" && pathname === "/v1/acquire") {
      const sessionId = crypto.randomUUID();
      sessions.set(sessionId, await browser.connect());
      // The hosted service has no proxy of ours: this member is the stand-in's own.
      reply(response, 200, { sessionId, proxyLogin: browser.proxyLogin?.() ?? null });
    } else if (request.method === "DELETE" && session !== undefined) {
      sessions.get(session)?.close();
      sessions.delete(session);
      reply(response, 200, { status: "closed" });
    } else reply(response, 404, { error: "No such route" });
  }

  const server: Server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      reply(response, 503, { error: error instanceof Error ? error.message : String(error) });
    });
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const session = sessionOf(new URL(request.url ?? "/", "http://binding").pathname) ?? "";
    const wire = sessions.get(session);
    if (wire === undefined) {
      socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
      return;
    }
    frames.handleUpgrade(request, socket, head, (client) => {
      // A Worker that went away without a DELETE must not leave its pages behind.
      client.on("close", () => {
        wire.close();
        sessions.delete(session);
      });
      connect(client, wire);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  return {
    async close() {
      for (const client of frames.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await browser.close();
    },
  };
}

function sessionOf(pathname: string): string | undefined {
  return /^\/v1\/devtools\/browser\/([^/]+)$/u.exec(pathname)?.[1];
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function connect(client: WebSocket, wire: Wire): void {
  client.on("message", (data: RawData) => {
    wire.send(
      Buffer.isBuffer(data)
        ? data.toString("utf8")
        : Buffer.concat([data].flat().map(toBuffer)).toString("utf8"),
    );
  });
  wire.onMessage((message) => {
    client.send(message);
  });
  wire.onClose((reason) => {
    client.close(1001, reason.slice(0, 100));
  });
}

function toBuffer(data: Buffer | ArrayBuffer): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
