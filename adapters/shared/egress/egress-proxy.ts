import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { parseAllowHosts, type AllowHosts } from "../../../core/net/allow-hosts.ts";
import { checkUrl } from "../../../core/net/check-url.ts";
import type { ProxyLogin } from "../../../core/ports.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import { dial } from "./egress-dial.ts";
import { exchange } from "./egress-exchange.ts";
import { readHead, valuesOf, writeHead, type Head } from "./egress-head.ts";
import { resolveChecked, type Resolve } from "./egress-resolve.ts";
import { inboxOf, type Inbox } from "./inbox.ts";
import { requestEnd } from "./message-body.ts";

export interface EgressProxyOptions {
  /** Hosts that are let through although they are not public, see `parseAllowHosts`. @default [] */
  readonly allowHosts?: readonly string[];
  /** @default DNS; the system's resolver for the names of the allow list */
  readonly resolve?: Resolve;
  /** Connections at a time; more are answered 503. @default 512 */
  readonly maxConnections?: number;
  /** How long a name may take to be resolved, one address to accept, and a client to send its head, in ms. @default 10000 */
  readonly timeoutMs?: number;
}

export interface EgressProxy {
  /** Its port on 127.0.0.1. */
  readonly port: number;
  /** The login of the proxy: every user of the machine can connect to a port on loopback. */
  readonly login: ProxyLogin;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

interface Guard {
  readonly allow: AllowHosts;
  readonly options: EgressProxyOptions;
  readonly timeoutMs: number;
  readonly isAllowed: (head: Head) => boolean;
  readonly track: (socket: Socket) => void;
}

/** A connection without a byte for this long is ended, in ms. */
const IDLE_MS = 5 * 60_000;

/** An address of the proxy itself, in no DNS (RFC 6761, section 6.4). */
const LOGIN_HOST = "egress.invalid";

const asksForLogin = "proxy_authentication_required";

/**
 * Starts the HTTP proxy on loopback that a browser has to use for everything (CONNECT and absolute-form, so
 * WebSockets and workers too). Each destination is resolved once, every address is checked and a checked
 * address is dialled: this, not interception inside the browser, is the boundary of page rendering.
 */
export async function startEgressProxy(options: EgressProxyOptions = {}): Promise<EgressProxy> {
  const login = {
    url: `http://${LOGIN_HOST}/`,
    username: "browser",
    password: randomBytes(32).toString("base64url"),
  };
  const open = new Set<Socket>();
  const guard: Guard = {
    allow: parseAllowHosts(options.allowHosts),
    options,
    timeoutMs: options.timeoutMs ?? 10_000,
    isAllowed: checkLogin(login),
    track: (socket) => watch(socket, open),
  };
  const limit = options.maxConnections ?? 512;
  const server = createServer((client) => {
    guard.track(client);
    if (open.size > limit) return refuse(client, 503, "proxy_internal_response");
    serve(client, guard).catch(() => client.destroy());
  });
  server.maxConnections = limit * 2;
  const port = await listen(server);
  return {
    port,
    login,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Compares digests, whose comparison takes the same time whatever was sent. */
function checkLogin({ username, password }: ProxyLogin): Guard["isAllowed"] {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  const pair = Buffer.from(`${username}:${password}`).toString("base64");
  const wanted = digest(`Basic ${pair}`);
  return (head) => timingSafeEqual(digest(valuesOf(head, "proxy-authorization").join()), wanted);
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
function watch(socket: Socket, open: Set<Socket>): void {
  open.add(socket);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => open.delete(socket));
  socket.setTimeout(IDLE_MS, () => socket.destroy());
}

/** A connection to a checked address, and the host and port that it was checked for. */
interface Upstream {
  readonly inbox: Inbox;
  readonly authority: string;
}

/** Serves the requests of one connection, one after the other; a tunnel is the last of them. */
async function serve(socket: Socket, guard: Guard): Promise<void> {
  const client = inboxOf(socket);
  const current: Tunnel = { upstream: null, isIdle: false };
  socket.on("close", () => current.upstream?.inbox.socket.destroy());
  for (let head = await admit(client, guard); head !== null;) {
    current.isIdle = false;
    if (!(await answer(client, head, current, guard))) return;
    current.isIdle = true;
    head = await readHead(client, IDLE_MS);
    if (head === null) socket.destroy();
  }
}

/** The upstream to which a browser's connection currently leads. */
interface Tunnel {
  upstream: Upstream | null;
  /** Whether the connection has carried no request yet. */
  isIdle: boolean;
}

/** Answers one request; tells whether another one may follow. */
async function answer(client: Inbox, head: Head, current: Tunnel, guard: Guard): Promise<boolean> {
  const { socket } = client;
  const stop = (status: number, reason: string): false => {
    refuse(socket, status, reason);
    return false;
  };
  if (!guard.isAllowed(head)) return stop(407, asksForLogin);
  const target = parseTarget(head);
  if (target === null) return stop(400, "http_protocol_error");
  const { method, url } = target;
  if (url.hostname === LOGIN_HOST) {
    socket.write(noContent);
    return true;
  }
  const reached = await reach(url, current.upstream, guard);
  if ("status" in reached) return stop(reached.status, reached.reason);
  const { inbox } = reached;
  if (reached !== current.upstream) endTogether(socket, inbox.socket, current);
  current.upstream = reached;
  if (socket.destroyed) inbox.socket.destroy();
  if (method === "CONNECT") {
    connectThrough(client, inbox);
    return false;
  }
  const leftover = await exchange(client, inbox, { head, url, idleMs: IDLE_MS });
  if (!leftover.upstream || !leftover.client) {
    current.upstream = null;
    inbox.socket.destroy();
  }
  if (!leftover.client && !socket.writableEnded) socket.destroy();
  return leftover.client;
}

/**
 * Reads the first request that carries the login. A browser first asks without it, and learns from the refusal that it is
 * needed.
 */
async function admit(client: Inbox, { isAllowed, timeoutMs }: Guard): Promise<Head | null> {
  const head = await readHead(client, timeoutMs);
  if (head === null) client.socket.destroy();
  if (head === null || isAllowed(head)) return head;
  if (requestEnd(head)?.isReached !== true) refuse(client.socket, 407, asksForLogin);
  else {
    client.socket.write(refusalHead(407, asksForLogin, "keep-alive"));
    const second = await readHead(client, timeoutMs);
    if (second !== null && isAllowed(second)) return second;
    if (second === null) client.socket.destroy();
    else refuse(client.socket, 407, asksForLogin);
  }
  return null;
}

interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/**
 * Returns a connection for a destination: the one at hand if it was made for the same, else a new one to a checked address.
 */
async function reach(url: URL, before: Upstream | null, guard: Guard): Promise<Upstream | Refusal> {
  const verdict = checkUrl(url, guard.allow);
  if (!verdict.ok) return { status: 403, reason: "destination_ip_prohibited" };
  const { host, port } = verdict;
  const authority = `${host}:${port}`;
  if (before !== null) {
    const { inbox } = before;
    // Unexpected bytes would be taken for the answer to the next request.
    const isFresh = !inbox.isOver && !inbox.isAhead && !inbox.socket.destroyed;
    if (before.authority === authority && isFresh) return before;
    inbox.socket.destroy();
  }
  try {
    const { allow, options, timeoutMs } = guard;
    const addresses = await resolveChecked(host, port, {
      allow,
      resolve: options.resolve,
      withinMs: timeoutMs,
    });
    const socket = await dial(addresses, port, timeoutMs);
    guard.track(socket);
    return { inbox: inboxOf(socket), authority };
  } catch (error) {
    const [status, reason] = refusalOf(error);
    return { status, reason };
  }
}

/** The site's end of a connection that waits for a request is the browser's too; in an answer, the rest of it goes first. */
function endTogether(client: Socket, upstream: Socket, current: Tunnel): void {
  upstream.on("close", () => {
    if (current.isIdle && current.upstream?.inbox.socket === upstream) client.end();
  });
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

function connectThrough(client: Inbox, upstream: Inbox): void {
  const [browser, site] = [client.socket, upstream.socket];
  browser.write("HTTP/1.1 200 Connection established\r\n\r\n");
  const sent = client.release();
  const answered = upstream.release();
  if (sent.length > 0) site.write(sent);
  if (answered.length > 0) browser.write(answered);
  browser.pipe(site);
  site.pipe(browser);
  site.on("close", () => browser.destroy());
}

const noContent = "HTTP/1.1 204 No Content\r\n\r\n";

function refusalOf(error: unknown): [status: number, reason: string] {
  if (error instanceof TransportError && error.reason === "refused")
    return [403, "destination_ip_prohibited"];
  const failure = error instanceof TransportError ? error.failure : null;
  if (failure === "timeout") return [504, "connection_timeout"];
  if (failure === "refused") return [502, "connection_refused"];
  if (failure === "dns") return [502, "dns_error"];
  return [502, "destination_unavailable"];
}

/** Answers for a destination that was not reached; `Proxy-Status` (RFC 9209) says why. */
function refuse(client: Socket, status: number, reason: string): void {
  client.end(refusalHead(status, reason, "close"));
}

function refusalHead(status: number, reason: string, connection: "close" | "keep-alive"): Buffer {
  const lines = [`Proxy-Status: causey; error=${reason}`, "Content-Length: 0"];
  if (status === 407) lines.push('Proxy-Authenticate: Basic realm="causey"');
  return writeHead(`HTTP/1.1 ${status} Refused`, lines, [], connection);
}
