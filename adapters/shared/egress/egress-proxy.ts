import { createServer, type Server, type Socket } from "node:net";
import { parseAllowHosts, type AllowHosts } from "../../../core/net/allow-hosts.ts";
import { checkUrl } from "../../../core/net/check-url.ts";
import { TransportError } from "../../../core/transport-error.ts";
import { dial } from "./egress-dial.ts";
import { readHead, writeHead, type Head } from "./egress-head.ts";
import { ownPeers, type IsOwnPeer } from "./egress-peer.ts";
import { resolveChecked, type Resolve } from "./egress-resolve.ts";

/** Options of {@link startEgressProxy}. */
export interface EgressProxyOptions {
  /** Hosts that are let through although they are not public, see `parseAllowHosts`. @default [] */
  readonly allowHosts?: readonly string[];
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** Connections at a time; more are answered 503. @default 512 */
  readonly maxConnections?: number;
  /** How long one address may take to accept, and a client to send its head, in ms. @default 10000 */
  readonly timeoutMs?: number;
}

/** A running egress proxy. */
export interface EgressProxy {
  /** Its port on 127.0.0.1. */
  readonly port: number;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

interface Tunnel {
  readonly allow: AllowHosts;
  readonly options: EgressProxyOptions;
  readonly timeoutMs: number;
  readonly isOwnPeer: IsOwnPeer;
}

/** A connection without a byte for this long is ended, in ms. */
const IDLE_MS = 5 * 60_000;

const PROXY_HEADERS = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authorization",
  "upgrade",
];

/**
 * Starts the HTTP proxy on loopback that a browser has to use for everything (CONNECT and absolute-form, so
 * WebSockets and workers too). Each destination is resolved once, every address is checked and a checked
 * address is dialled: this, not interception inside the browser, is the boundary of page rendering.
 */
export async function startEgressProxy(options: EgressProxyOptions = {}): Promise<EgressProxy> {
  const tunnel: Tunnel = {
    allow: parseAllowHosts(options.allowHosts),
    options,
    timeoutMs: options.timeoutMs ?? 10_000,
    isOwnPeer: ownPeers(),
  };
  const open = new Set<Socket>();
  const limit = options.maxConnections ?? 512;
  const server = createServer((client) => {
    guard(client, open);
    if (open.size > limit) return refuse(client, 503, "proxy_internal_response");
    serve(client, tunnel, (upstream) => guard(upstream, open)).catch(() => client.destroy());
  });
  server.maxConnections = limit * 2;
  const port = await listen(server);
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(address !== null && typeof address === "object" ? address.port : 0);
    });
  });
}

/** Counts a socket among the open ones and makes sure that no error of it goes unhandled. */
function guard(socket: Socket, open: Set<Socket>): void {
  open.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => open.delete(socket));
  socket.setTimeout(IDLE_MS, () => socket.destroy());
}

async function serve(
  client: Socket,
  tunnel: Tunnel,
  track: (socket: Socket) => void,
): Promise<void> {
  client.pause();
  const own = await tunnel.isOwnPeer(client.localPort ?? 0, client.remotePort ?? 0);
  if (!own) return void client.destroy();
  const head = await readHead(client, tunnel.timeoutMs);
  if (head === null) return void client.destroy();
  const target = parseTarget(head);
  if (target === null) return refuse(client, 400, "http_protocol_error");
  const verdict = checkUrl(target.url, tunnel.allow);
  if (!verdict.ok) return refuse(client, 403, "destination_ip_prohibited");
  let upstream: Socket;
  try {
    const addresses = await resolveChecked(
      verdict.host,
      verdict.port,
      tunnel.allow,
      tunnel.options.resolve,
    );
    upstream = await dial(addresses, verdict.port, tunnel.timeoutMs);
  } catch (error) {
    return refuse(client, ...failure(error));
  }
  track(upstream);
  if (client.destroyed) return void upstream.destroy();
  if (target.method === "CONNECT") connectThrough(client, upstream, head.rest);
  else await forward(client, upstream, head, verdict.url);
}

function parseTarget(head: Head): { method: string; url: URL } | null {
  const [method = "", target = "", version] = head.first.split(" ");
  if (version === undefined || !version.startsWith("HTTP/1.")) return null;
  if (method !== "CONNECT") {
    const url = URL.parse(target);
    return url === null || url.protocol !== "http:" ? null : { method, url };
  }
  // An authority has no path, so nothing but a host and a port may be in it.
  const url = /^[^/?#@\\]+:\d+$/u.test(target) ? URL.parse(`https://${target}/`) : null;
  return url === null ? null : { method, url };
}

function connectThrough(client: Socket, upstream: Socket, rest: Uint8Array): void {
  client.write("HTTP/1.1 200 Connection established\r\n\r\n");
  if (rest.length > 0) upstream.write(rest);
  client.pipe(upstream);
  upstream.pipe(client);
  client.on("close", () => upstream.destroy());
  upstream.on("close", () => client.destroy());
}

/**
 * Sends one request in origin form. Both sides are told that the connection ends after it, so that no
 * second request, maybe for another host, can travel to a destination that was checked for the first.
 */
async function forward(client: Socket, upstream: Socket, head: Head, url: URL): Promise<void> {
  const [method = ""] = head.first.split(" ");
  upstream.write(
    writeHead(`${method} ${url.pathname}${url.search} HTTP/1.1`, head.lines, PROXY_HEADERS),
  );
  if (head.rest.length > 0) upstream.write(head.rest);
  client.pipe(upstream);
  upstream.on("close", () => client.end());
  client.on("close", () => upstream.destroy());
  let rest: Uint8Array = new Uint8Array(0);
  for (;;) {
    const answer = await readHead(upstream, IDLE_MS, rest);
    if (answer === null) return void client.destroy();
    const status = Number(answer.first.split(" ")[1]);
    const interim = status >= 100 && status < 200 && status !== 101;
    client.write(writeHead(answer.first, answer.lines, interim ? [] : PROXY_HEADERS));
    rest = answer.rest;
    if (!interim) break;
  }
  if (rest.length > 0) client.write(rest);
  upstream.pipe(client);
}

function failure(error: unknown): [status: number, reason: string] {
  if (error instanceof TransportError && error.reason === "refused")
    return [403, "destination_ip_prohibited"];
  const text = error instanceof Error ? error.message : "";
  if (text.includes("ETIMEDOUT")) return [504, "connection_timeout"];
  if (text.includes("ECONNREFUSED")) return [502, "connection_refused"];
  if (text.includes("name")) return [502, "dns_error"];
  return [502, "destination_unavailable"];
}

/** Answers for a destination that was not reached; `Proxy-Status` (RFC 9209) says why. */
function refuse(client: Socket, status: number, reason: string): void {
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    `Proxy-Status: causey; error=${reason}`,
    "Content-Length: 0",
    "Connection: close",
  ];
  client.end(`${lines.join("\r\n")}\r\n\r\n`);
}
