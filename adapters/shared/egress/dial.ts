import type { IncomingMessage } from "node:http";
import { type ClientOptions, WebSocket } from "ws";
import {
  type Dialled,
  type DialRequest,
  MAX_DUPLEX_MESSAGE,
  type WebSockets,
} from "../../../core/net/duplex.ts";
import { type AllowHosts, parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import { checkUrl } from "../../../core/net/check-url.ts";
import type { HeaderPair, InboundResponse } from "../../../core/ports.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import { localDuplex } from "../sockets/duplex.ts";
import { type Resolve, resolveChecked } from "./egress-resolve.ts";
import { endToEnd, handshakeHeaders } from "../http/header-pairs.ts";
import { type Lookup, pinnedLookup } from "./pinned-lookup.ts";
import { proxyTunnel } from "./proxy-tunnel.ts";
import { toTransportError } from "../http/to-transport-error.ts";
import { wireSocket } from "../sockets/wire-socket.ts";
import { environmentProxyFor } from "../http/environment-proxy.ts";

/** Bytes of a refusal's body that are handed on. */
const REFUSAL_BYTES = 64 * 1024;

/** The abilities of a runtime that a WebSocket client depends on. */
export interface DialOptions {
  readonly allow: AllowHosts;
  /** Whether the runtime's `ws` connects to the given address instead of resolving the name again. */
  readonly pins: () => Promise<boolean>;
  /** @default DNS; the system's resolver for the names of the allow list */
  readonly resolve?: Resolve | undefined;
  /** The proxy for a configured address; null = direct. */
  readonly proxyFor: (url: string) => URL | null;
  /** Whether the runtime's `ws` needs the proxy's address, because it accepts no ready connection. */
  readonly passesProxy: boolean;
}

/** How `ws` is to connect. */
type ConnectOptions = Pick<ClientOptions, "createConnection"> & {
  readonly lookup?: Lookup;
  /** Bun's only; its types do not know it. */
  readonly proxy?: string;
};

/** Opens a WebSocket by means of `ws`, which can stop reading and shows the answer of a refusal. */
export function dialWebSocket(request: DialRequest, options: DialOptions): Promise<Dialled> {
  const { signal, timeoutMs } = request;
  return new Promise((resolve, reject) => {
    let socket: WebSocket | undefined;
    let isSettled = false;
    const given = new AbortController();
    const settle = (done: () => void): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      done();
    };
    const fail = (error: unknown): void => {
      settle(() => {
        reject(toTransportError(error, signal, "unreachable"));
        socket?.terminate();
        given.abort();
      });
    };
    const onAbort = (): void => {
      fail(new TransportError("aborted", "The request was aborted"));
    };
    const timer = setTimeout(() => {
      fail(new TransportError("late", `No answer within ${timeoutMs} ms`));
    }, timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const connect = (connectOptions: ConnectOptions): void => {
      if (isSettled) return;
      socket = open(request, connectOptions);
      shake(socket, fail, (dialled) => {
        settle(() => {
          resolve(dialled);
        });
      });
    };
    connectOptionsFor(request, options, given.signal).then(connect).catch(fail);
  });
}

/** Follows a handshake to its end. */
function shake(
  socket: WebSocket,
  fail: (error: unknown) => void,
  tell: (dialled: Dialled) => void,
): void {
  // `ws` reports what ends a handshake as an error; later ones are followed by "close".
  socket.on("error", fail);
  socket.once("unexpected-response", (_request, answer: IncomingMessage) => {
    refusalOf(answer).then((refusal) => {
      tell({ refusal });
      socket.terminate();
    }, fail);
  });
  // Wired before it is open: the first message may come with the answer to the handshake.
  const local = localDuplex(() => socket.protocol);
  local.attach(wireSocket(socket, local.events));
  socket.once("open", () => {
    tell({ duplex: local.duplex });
  });
}

async function connectOptionsFor(
  request: DialRequest,
  options: DialOptions,
  given: AbortSignal,
): Promise<ConnectOptions> {
  const url = request.url.replace(/^http/, "ws");
  if (request.reach !== "configured") return pinned(url, options);
  const proxy = options.proxyFor(url);
  if (proxy === null) return {};
  if (options.passesProxy) return { proxy: proxy.href };
  const tunnel = await proxyTunnel(proxy, url, request.timeoutMs, given);
  // A caller that gave up meanwhile does not use the connection.
  given.addEventListener("abort", () => tunnel.destroy(), { once: true });
  if (given.aborted) tunnel.destroy();
  return { createConnection: () => tunnel };
}

/** Connects to a host that a caller may steer to: to one of exactly those addresses that were checked. */
async function pinned(url: string, { allow, pins, resolve }: DialOptions): Promise<ConnectOptions> {
  const verdict = checkUrl(url.replace(/^ws/, "http"), allow);
  if (!verdict.ok) throw new TransportError("refused", verdict.reason);
  if (!(await pins())) {
    const message =
      "This runtime's WebSocket client cannot be pinned to a checked address: update the runtime, or declare the provider in the configuration";
    throw new TransportError("refused", message);
  }
  const addresses = await resolveChecked(verdict.host, verdict.port, { allow, resolve });
  return { lookup: pinnedLookup(addresses) };
}

function open(
  { url, headers, protocols = [] }: DialRequest,
  connectOptions: ConnectOptions,
): WebSocket {
  return new WebSocket(url.replace(/^http/, "ws"), [...protocols], {
    headers: recordOf(headers),
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: MAX_DUPLEX_MESSAGE,
    ...connectOptions,
  });
}

function recordOf(pairs: readonly HeaderPair[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (const [name, value] of handshakeHeaders(pairs)) {
    record[name] = Object.hasOwn(record, name) ? `${record[name]}, ${value}` : value;
  }
  return record;
}

async function refusalOf(answer: IncomingMessage): Promise<InboundResponse> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > REFUSAL_BYTES) break;
  }
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value ?? ""].flat().map((one): HeaderPair => [name, one]),
  );
  const body = new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
  return {
    status: answer.statusCode ?? 0,
    headers: endToEnd(headers, ["content-length"]),
    body: body.subarray(0, REFUSAL_BYTES),
  };
}

/**
 * Whether this runtime's `ws` asks the `lookup` that it is given. Bun brings a client of its own in place of the
 * package, and its older ones resolve names by themselves: those must not reach what a caller steers.
 */
export function wsAsksLookup(): Promise<boolean> {
  return new Promise((resolve) => {
    const lookup: Lookup = (_host, _options, callback) => {
      resolve(true);
      callback(new Error("Nothing to connect to"), "");
    };
    // The name is in no DNS (RFC 6761 section 6.4).
    const probe = new WebSocket("ws://lookup.invalid/", { lookup, handshakeTimeout: 5000 });
    probe.on("error", () => undefined);
    probe.on("close", () => {
      resolve(false);
    });
  });
}

export interface DiallerOptions {
  /** Hosts that are let through although they are not public. @default [] */
  readonly allowHosts?: readonly string[] | undefined;
  /** @default DNS; the system's resolver for the names of the allow list */
  readonly resolve?: Resolve;
  /** Whether the runtime's `ws` needs the proxy's address, see `DialOptions`. @default false */
  readonly passesProxy?: boolean;
}

/** Opens WebSockets from a process, past the proxy of its environment. */
export function webSocketDialler(options: DiallerOptions): WebSockets["dial"] {
  let asks: Promise<boolean> | undefined;
  const dialling: DialOptions = {
    allow: parseAllowHosts(options.allowHosts),
    pins: () => (asks ??= wsAsksLookup()),
    resolve: options.resolve,
    proxyFor: environmentProxyFor(),
    passesProxy: options.passesProxy ?? false,
  };
  return (request) => dialWebSocket(request, dialling);
}
