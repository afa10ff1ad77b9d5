// A host's own server with agents in it, for the tests of acceptWebSockets() and closeServer(): RUNTIME [KIND].
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { webConsole } from "../../core/console/mod.ts";
import { platformApi } from "../../core/mod.ts";
import type { CloseServerOptions, FetchApp } from "../../adapters/shared/http/drain.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import type { Platform } from "../../core/ports.ts";

/** A listener for Node's servers, options for Bun's. */
interface SocketHandlers {
  (incoming: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly fetch?: unknown;
  readonly websocket?: object;
}

interface Adapter {
  acceptWebSockets(app: FetchApp): SocketHandlers;
  closeServer(server: unknown, options: CloseServerOptions): Promise<void>;
  [open: string]: unknown;
}

const [runtime = "node", kind = "hono"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Adapter;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir: ":memory:" });
const { acceptWebSockets, closeServer } = adapter;
const baseUrl = process.env["UPSTREAM_URL"];
const api = platformApi({
  platform,
  auth: "off",
  demo: true,
  console: webConsole,
  ...(baseUrl === undefined ? {} : { gateway: { providers: { openai: { baseUrl } } } }),
});

/** A mount that hands the request on as it came: then agents below it accept WebSockets too. */
function keptRequest(): Hono {
  const app = new Hono().route("/platform", api);
  const host = new Hono().get("/", (c) => c.text("The host's own page"));
  return host.mount("/platform", app.fetch, { replaceRequest: false });
}

function tell(server: Server): void {
  const port = (): number => (server.address() as AddressInfo).port;
  if (server.listening) console.log(`listening ${port()}`);
  else
    server.once("listening", () => {
      console.log(`listening ${port()}`);
    });
}

async function startOnNode(): Promise<void> {
  if (kind === "express") {
    // The block of docs/agents/connecting.md, but for the port.
    const app = new Hono().route("/platform", api);
    const host = express();
    host.all("/platform/{*rest}", getRequestListener(app.fetch));
    const server = host.listen(0, "127.0.0.1");
    server.on("upgrade", acceptWebSockets(app));
    process.once("SIGTERM", () => void closeServer(server, { platform }));
    host.get("/", (_request, response) => void response.send("The host's own page"));
    return tell(server);
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
    process.once("SIGTERM", () => void closeServer(host.server, { platform }));
    return tell(host.server);
  }
  if (kind === "kept") {
    const host = keptRequest();
    const server = serve({ fetch: host.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    server.on("upgrade", acceptWebSockets(host));
    process.once("SIGTERM", () => void closeServer(server, { platform }));
    return tell(server);
  }
  if (kind === "hono") {
    const server = serve({ fetch: api.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    server.on("upgrade", acceptWebSockets(api));
    process.once("SIGTERM", () => void closeServer(server, { platform }));
    return tell(server);
  }
  const mounted = kind === "mount" ? new Hono().mount("/platform", api.fetch) : api;
  const listener = getRequestListener((request) => api.fetch(request));
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  if (kind !== "without") server.on("upgrade", acceptWebSockets(mounted));
  process.once("SIGTERM", () => void closeServer(server, { platform }));
  tell(server);
}

interface WebServer {
  readonly port: number;
}

interface Globals {
  readonly Bun: { serve(options: object): WebServer };
  readonly Deno: {
    serve(options: object, fetch: FetchApp["fetch"]): { readonly addr: WebServer };
    addSignalListener(name: string, listener: () => void): void;
  };
}

const { Bun, Deno } = globalThis as unknown as Globals;

function startOnDeno(): void {
  if (kind === "kept") {
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1" }, keptRequest().fetch);
    Deno.addSignalListener("SIGTERM", () => void closeServer(server, { platform }));
    console.log(`listening ${server.addr.port}`);
    return;
  }
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1" }, api.fetch);
  Deno.addSignalListener("SIGTERM", () => void closeServer(server, { platform }));
  console.log(`listening ${server.addr.port}`);
}

function startOnBun(): void {
  if (kind === "default") {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", ...acceptWebSockets(api) });
    process.once("SIGTERM", () => void closeServer(server, { platform }));
    console.log(`listening ${server.port}`);
    return;
  }
  const handlers = kind === "kept" ? acceptWebSockets(keptRequest()) : { fetch: api.fetch };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", ...handlers });
  process.once("SIGTERM", () => void closeServer(server, { platform }));
  console.log(`listening ${server.port}`);
}

if (runtime === "deno") startOnDeno();
else if (runtime === "bun") startOnBun();
else await startOnNode();
