import { setTimeout as pause } from "node:timers/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import {
  checkReusePort,
  HEADERS_TIMEOUT_MS,
  listenError,
  MAX_HEADER_BYTES,
  onceDrained,
  urlOf,
  type Ending,
  type FetchApp,
  type ServeOptions,
  type Served,
} from "../shared/http/drain.ts";
import { inFlight, type InFlight } from "../shared/http/in-flight.ts";
import { answerAtTurnsEnd } from "../shared/http/turn.ts";
import { inOrder } from "./in-order.ts";
import { rememberIncoming } from "./received.ts";
import { handleUpgrade } from "./upgrade.ts";
import {
  cachedBodyKey,
  cachedParts,
  isWhole,
  writeBytes,
  writeLongBytes,
  writeResponse,
  writeUpstream,
} from "./write-response.ts";

/**
 * Serves an app over HTTP/1.1 and WebSocket. Rejects when the address cannot be opened, with one line that
 * says what to do. SIGTERM and SIGINT drain: see {@link ServeOptions}.
 *
 * @example
 * ```ts
 * import { nodePlatform, serve } from "causey/node";
 * import { Hono } from "hono";
 *
 * const platform = await nodePlatform();
 * const app = new Hono().get("/", (c) => c.text("Hello"));
 * const { url, close } = await serve(app, { port: 8787, platform });
 * ```
 */
export async function serve(app: FetchApp, options: ServeOptions = {}): Promise<Served> {
  const { port = 8787, hostname = "127.0.0.1", graceMs = 10_000, reusePort = false } = options;
  checkReusePort(options);
  const active = inFlight<ServerResponse>();
  const listener = requestListener(app);
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: 5000,
      // Clients offer other protocols, e.g. h2c, with requests like any other (RFC 9110 section 7.8).
      shouldUpgradeCallback: ({ method, headers }) =>
        method === "GET" && headers.upgrade?.toLowerCase() === "websocket",
    },
    inOrder((incoming, outgoing) => {
      outgoing.on("close", active.add(outgoing));
      // A keep-alive connection may bring a request while we drain: it is answered and then closed.
      if (!server.listening) outgoing.setHeader("connection", "close");
      void listener(incoming, outgoing);
    }),
  );
  // Longer than what load balancers keep idle (60 s): who closes first loses no request.
  server.keepAliveTimeout = 65_000;
  server.on("upgrade", (incoming, socket, head) => void handleUpgrade(app, incoming, socket, head));
  await listen(server, port, hostname, reusePort);
  const address = server.address() as AddressInfo;
  const close = onceDrained(ending(server, active, graceMs), options);
  const served = { url: urlOf(hostname, address.port), port: address.port, close };
  options.onListen?.(served);
  return served;
}

function requestListener(
  app: FetchApp,
): (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> {
  // Looked up on first use: making the listener puts node-server's Response in the place of the global one.
  let key: symbol | null | undefined;
  const atEnd = answerAtTurnsEnd();
  return getRequestListener((request, env) => {
    const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse };
    rememberIncoming(request, incoming);
    const respond = (response: Response): Response | Promise<Response> => {
      if (!incoming.readableEnded) {
        drainOnceAnswered(incoming, outgoing);
        if (response.headers.get("connection") === "close") closeInOrder(incoming.socket);
      }
      key ??= cachedBodyKey();
      const parts = cachedParts(response, key);
      if (parts === undefined) return writeResponse(response, outgoing);
      if (writeBytes(parts, outgoing)) return RESPONSE_ALREADY_SENT;
      if (writeLongBytes(response, parts, outgoing)) return RESPONSE_ALREADY_SENT;
      if (isWhole(parts)) return response;
      return writeUpstream(parts, outgoing)
        ? RESPONSE_ALREADY_SENT
        : writeResponse(response, outgoing);
    };
    return atEnd(() => app.fetch(request, env)).then(respond);
  });
}

/**
 * Drains a request whose answer came before its body was read to the end (413). By itself node-server drains the rest or
 * closes after 500 ms, in the middle of the connection's next request; but a web stream of the body, left alone, pauses it
 * for ever.
 */
function drainOnceAnswered(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.once("finish", () => {
    incoming.on("pause", () => {
      // `pause()` is still at work when it tells.
      queueMicrotask(() => incoming.resume());
    });
  });
}

/** The rest of a body is read and dropped until no byte has come for so long, in ms, and no longer than ten times that. */
const LINGER_MS = 1000;
const LINGER_ROUNDS = 10;

/**
 * Has Node end a connection in two steps behind an answer that came before the end of its request (RFC 9112, section 9.6): our
 * side with the answer, the whole connection once the client has ended or is silent. Closed at once, with bytes unread, it would be
 * reset, and a client that still writes would see that instead of the answer.
 */
function closeInOrder(socket: Socket): void {
  socket.destroySoon = () => {
    if (!socket.writable) return;
    socket.end();
    let [seen, rounds] = [socket.bytesRead, 0];
    const timer = setInterval(() => {
      rounds += 1;
      if (socket.bytesRead === seen || rounds === LINGER_ROUNDS) socket.destroy();
      seen = socket.bytesRead;
    }, LINGER_MS);
    socket.once("close", () => clearInterval(timer));
  };
}

function listen(server: Server, port: number, hostname: string, reusePort: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(listenError(error, hostname, port));
    });
    server.listen({ port, host: hostname, reusePort }, resolve);
  });
}

function ending(server: Server, active: InFlight<ServerResponse>, graceMs: number): Ending {
  let closed: Promise<void> | undefined;
  return {
    async finish() {
      closed = new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      });
      for (const outgoing of active)
        if (!outgoing.headersSent) outgoing.setHeader("connection", "close");
      const until = Date.now() + graceMs;
      while (active.size > 0 && Date.now() < until) {
        server.closeIdleConnections();
        await pause(10);
      }
    },
    async stop() {
      server.closeAllConnections();
      await Promise.race([closed, pause(1000)]);
    },
  };
}
