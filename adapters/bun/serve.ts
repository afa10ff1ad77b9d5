import type { Server, WebSocketHandler } from "bun";
import {
  checkReusePort,
  type CloseServerOptions,
  endInOrder,
  listenError,
  onceDrained,
  refuseAmbiguous,
  urlOf,
  type Ending,
  type FetchApp,
  type ServeOptions,
  type Served,
} from "../shared/http/drain.ts";
import { answerAtTurnsEnd } from "../shared/http/turn.ts";
import { isUpgraded, receivedBy, websocket, type SocketData } from "./sockets.ts";

/** How long a connection may be silent outside a request, in s. */
const IDLE_S = 30;
/** The routes have their own limits; Bun's default of 128 MiB is below what the gateway streams through. */
const MAX_BODY_BYTES = 1024 ** 4;

/**
 * Serves an app over HTTP and WebSocket. Rejects when the address cannot be opened, with one line that
 * says what to do. SIGTERM and SIGINT drain: see {@link ServeOptions}.
 *
 * @example
 * ```ts
 * import { bunPlatform, serve } from "causey/bun";
 * import { Hono } from "hono";
 *
 * const platform = await bunPlatform();
 * const app = new Hono().get("/", (c) => c.text("Hello"));
 * const { url, close } = await serve(app, { port: 8787, platform });
 * ```
 */
export async function serve(app: FetchApp, options: ServeOptions = {}): Promise<Served> {
  const { port = 8787, hostname = "127.0.0.1", graceMs = 10_000, reusePort = false } = options;
  checkReusePort(options);
  const atEnd = answerAtTurnsEnd();
  let server: Server<SocketData>;
  try {
    server = Bun.serve<SocketData>({
      port,
      hostname,
      reusePort,
      idleTimeout: IDLE_S,
      maxRequestBodySize: MAX_BODY_BYTES,
      websocket,
      fetch: (request, from) => answer(app, atEnd, request, from),
      error: () => new Response("Internal Server Error", { status: 500 }),
    });
  } catch (error) {
    throw listenError(error, hostname, port);
  }
  const close = onceDrained(ending(server, graceMs), options);
  const listening = server.port ?? port;
  const served = { url: urlOf(hostname, listening), port: listening, close };
  options.onListen?.(served);
  return served;
}

/** The options of a Bun server: for `Bun.serve({...})`, or as the default export of a program. */
export interface BunHandlers {
  fetch(request: Request, server: Server<SocketData>): Promise<Response | undefined>;
  readonly websocket: WebSocketHandler<SocketData>;
}

/**
 * Lets an app accept WebSockets on a server of the host's own.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { acceptWebSockets, bunPlatform } from "causey/bun";
 *
 * const app = platformApi({ platform: await bunPlatform() });
 * const server = Bun.serve({ port: 8787, ...acceptWebSockets(app) });
 * ```
 */
export function acceptWebSockets(app: FetchApp): BunHandlers {
  const atEnd = answerAtTurnsEnd();
  return { websocket, fetch: (request, server) => answer(app, atEnd, request, server) };
}

/**
 * Ends a server of the host's own as `serve()` ends its own: it takes no new connections, event streams end, answers under
 * way are written within the grace, and agents' sockets close with 1001.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { acceptWebSockets, bunPlatform, closeServer } from "causey/bun";
 *
 * const platform = await bunPlatform();
 * const server = Bun.serve({ port: 8787, ...acceptWebSockets(platformApi({ platform })) });
 * process.once("SIGTERM", () => void closeServer(server, { platform }));
 * ```
 */
export function closeServer(
  server: Server<SocketData>,
  { platform, graceMs = 10_000 }: CloseServerOptions = {},
): Promise<void> {
  return endInOrder(ending(server, graceMs), platform === undefined ? [] : [platform]);
}

async function answer(
  app: FetchApp,
  atEnd: ReturnType<typeof answerAtTurnsEnd>,
  request: Request,
  server: Server<SocketData>,
): Promise<Response | undefined> {
  const refusal = refuseAmbiguous(request);
  if (refusal !== undefined) return refusal;
  receivedBy(server, request);
  // A model may be silent for minutes: from here on the capabilities keep the time.
  server.timeout(request, 0);
  const response = await atEnd(() => app.fetch(request, server));
  if (isUpgraded(request)) return undefined;
  // A stream may be silent too; after any other answer the connection is idle again.
  if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
    server.timeout(request, IDLE_S);
  }
  return response;
}

function ending(server: Server<SocketData>, graceMs: number): Ending {
  let stopped: Promise<void> | undefined;
  return {
    async finish() {
      stopped = server.stop();
      const until = Date.now() + graceMs;
      while (server.pendingRequests > 0 && Date.now() < until) await Bun.sleep(10);
    },
    async stop() {
      await Promise.race([server.stop(true), stopped, Bun.sleep(1000)]);
    },
  };
}
