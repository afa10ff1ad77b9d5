// A host's own server with agents in it, for the tests of acceptWebSockets(): RUNTIME [KIND].
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { platformApi } from "../../core/mod.ts";
import type { FetchApp } from "../../adapters/shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform } from "../../core/ports.ts";

type OnUpgrade = (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface Adapter {
  /** On Bun it is what `Bun.serve()` takes. */
  acceptWebSockets(app: FetchApp): OnUpgrade;
  [open: string]: unknown;
}

const [runtime = "node", kind = "hono"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Adapter;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const api = platformApi({
  platform: await open({ dataDir: ":memory:" }),
  auth: "off",
  demo: true,
});

/** A mount that hands the request on as it came: then agents below it accept WebSockets too. */
function keptRequest(): Hono {
  const app = new Hono().route("/platform", api);
  const host = new Hono().get("/", (c) => c.text("The host's own page"));
  return host.mount("/platform", app.fetch, { replaceRequest: false });
}

async function nodeServer(acceptWebSockets: Adapter["acceptWebSockets"]): Promise<Server> {
  if (kind === "express") {
    // The block of docs/agents/connecting.md, but for the port.
    const app = new Hono().route("/platform", api);
    const host = express();
    host.all("/platform/{*rest}", getRequestListener(app.fetch));
    const server = host.listen(0, "127.0.0.1");
    server.on("upgrade", acceptWebSockets(app));
    host.get("/", (_request, response) => void response.send("The host's own page"));
    return server;
  }
  if (kind === "fastify") {
    const app = new Hono().route("/platform", api);
    const listener = getRequestListener(app.fetch);
    const host = fastify();
    await host.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, _body, done) => done(null));
      scope.all("/platform/*", (request, reply) => {
        reply.hijack();
        void listener(request.raw, reply.raw);
      });
    });
    host.server.on("upgrade", acceptWebSockets(app));
    host.get("/", () => "The host's own page");
    await host.listen({ port: 0, host: "127.0.0.1" });
    return host.server;
  }
  if (kind === "kept") {
    const host = keptRequest();
    const server = serve({ fetch: host.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    server.on("upgrade", acceptWebSockets(host));
    return server;
  }
  const mounted = kind === "mount" ? new Hono().mount("/platform", api.fetch) : api;
  const listener = getRequestListener((request) => api.fetch(request));
  const server =
    kind === "plain"
      ? createServer((incoming, outgoing) => void listener(incoming, outgoing)).listen(
          0,
          "127.0.0.1",
        )
      : (serve({ fetch: api.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
  if (kind !== "without") server.on("upgrade", acceptWebSockets(mounted));
  return server;
}

if (runtime === "bun") {
  const handlers: object =
    kind === "without"
      ? { fetch: api.fetch }
      : adapter.acceptWebSockets(kind === "kept" ? keptRequest() : api);
  const { Bun } = globalThis as unknown as {
    Bun: { serve(options: object): { readonly port: number } };
  };
  console.log(`listening ${Bun.serve({ port: 0, hostname: "127.0.0.1", ...handlers }).port}`);
} else {
  const server = await nodeServer(adapter.acceptWebSockets);
  const tell = (): void => {
    console.log(`listening ${(server.address() as AddressInfo).port}`);
  };
  if (server.listening) tell();
  else server.once("listening", tell);
}
