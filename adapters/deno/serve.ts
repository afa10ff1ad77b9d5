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
import { rememberAddress } from "./client-address.ts";
import { withBoundedDrain } from "./drain-body.ts";
import { answerAtTurnsEnd } from "../shared/http/turn.ts";

/**
 * Serves an app over HTTP and WebSocket. Rejects when the address cannot be opened, with one line that
 * says what to do. SIGTERM and SIGINT drain: see {@link ServeOptions}.
 *
 * @example
 * ```ts
 * import { denoPlatform, serve } from "causey/deno";
 * import { Hono } from "hono";
 *
 * const platform = await denoPlatform();
 * const app = new Hono().get("/", (c) => c.text("Hello"));
 * const { url, close } = await serve(app, { port: 8787, platform });
 * ```
 */
export async function serve(app: FetchApp, options: ServeOptions = {}): Promise<Served> {
  const { port = 8787, hostname = "127.0.0.1", graceMs = 10_000, reusePort = false } = options;
  checkReusePort(options);
  if (reusePort) checkUnstableNet();
  const atEnd = answerAtTurnsEnd();
  let active = 0;
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve(
      { port, hostname, reusePort, onListen: () => undefined },
      (request, info) => {
        active += 1;
        const over = (): void => {
          active -= 1;
        };
        // Settles when the answer's last byte is sent, or the client has gone.
        info.completed.then(over, over);
        const refused = refuseAmbiguous(request);
        if (refused !== undefined) return refused;
        const drained = withBoundedDrain(request);
        rememberAddress(drained, info.remoteAddr);
        return atEnd(() => app.fetch(drained, info));
      },
    );
  } catch (error) {
    throw listenError(error, hostname, port);
  }
  const close = onceDrained(
    ending(server, () => active > 0, graceMs),
    options,
  );
  const served = { url: urlOf(hostname, server.addr.port), port: server.addr.port, close };
  options.onListen?.(served);
  return served;
}

/** Deno itself would end the process. Whether the flag is set shows in an interface that only the flag adds. */
function checkUnstableNet(): void {
  if ("listenDatagram" in Deno) return;
  throw new Error(
    "On Deno, processes can share a port only with --unstable-net: start with `deno run -A --unstable-net …`",
  );
}

/**
 * Ends a server of the host's own as `serve()` ends its own: it takes no new connections, event streams end, answers under
 * way are written within the grace, and agents' sockets close.
 *
 * Resolves a second after the grace at the latest. Deno cannot cut an answer then: one that never ends keeps the process running.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { closeServer, denoPlatform } from "causey/deno";
 *
 * const platform = await denoPlatform();
 * const app = platformApi({ platform });
 * const server = Deno.serve({ port: 8787, hostname: "127.0.0.1" }, (request, info) =>
 *   app.fetch(request, info),
 * );
 * Deno.addSignalListener("SIGTERM", () => void closeServer(server, { platform }));
 * ```
 */
export function closeServer(
  server: Deno.HttpServer,
  { platform, graceMs = 10_000 }: CloseServerOptions = {},
): Promise<void> {
  let isOpen = true;
  void server.finished.then(() => {
    isOpen = false;
  });
  const isBusy = (): boolean => isOpen;
  return endInOrder(ending(server, isBusy, graceMs), platform === undefined ? [] : [platform]);
}

function ending(server: Deno.HttpServer, isBusy: () => boolean, graceMs: number): Ending {
  let down: Promise<void> | undefined;
  return {
    async finish() {
      // It also waits for idle connections and closes WebSockets with 1001, so its end is not awaited here.
      down = server.shutdown();
      const until = Date.now() + graceMs;
      while (isBusy() && Date.now() < until) await sleep(10);
    },
    async stop() {
      await Promise.race([down, sleep(1000)]);
    },
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
