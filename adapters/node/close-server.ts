import { setTimeout as pause } from "node:timers/promises";
import type { Server } from "node:http";
import { type CloseServerOptions, endInOrder, type Ending } from "../shared/http/drain.ts";
import { openWebSockets } from "./sockets.ts";

/**
 * Ends a server of the host's own (`@hono/node-server`, `node:http`, Express, Fastify) as `serve()` ends its own: it takes no
 * new connections, event streams end, answers under way are written within the grace, and agents' sockets close with 1001.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { getRequestListener } from "@hono/node-server";
 * import { platformApi } from "causey";
 * import { closeServer, nodePlatform } from "causey/node";
 *
 * const platform = await nodePlatform();
 * const app = platformApi({ platform });
 * const server = createServer(getRequestListener(app.fetch)).listen(8787);
 * process.once("SIGTERM", () => void closeServer(server, { platform }));
 * ```
 */
export function closeServer(
  server: Server,
  { platform, graceMs = 10_000 }: CloseServerOptions = {},
): Promise<void> {
  return endInOrder(ending(server, graceMs), platform === undefined ? [] : [platform]);
}

function ending(server: Server, graceMs: number): Ending {
  const address = server.address();
  // A server that listens on a path has no port.
  const port = typeof address === "object" ? address?.port : undefined;
  let closed: Promise<void> | undefined;
  return {
    async finish() {
      closed = new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      });
      const until = Date.now() + graceMs;
      while ((await connectionsOf(server)) > openWebSockets(port) && Date.now() < until) {
        server.closeIdleConnections();
        await pause(10);
      }
    },
    async stop() {
      server.closeAllConnections();
      await Promise.race([closed, pause(1000, undefined, { ref: false })]);
    },
  };
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.getConnections((error, count) => {
      resolve(error === null ? count : 0);
    });
  });
}
