import { requireWebSocketUpgrade } from "../../core/http/origins/websocket-upgrade.ts";
import { firstBytes } from "../../core/http/stream.ts";
import {
  type Dialled,
  type DialRequest,
  isSendableCode,
  MAX_DUPLEX_MESSAGE,
  type WebSockets,
} from "../../core/net/duplex.ts";
import type { HeaderPair, InboundResponse, System } from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";
import type { SocketEvents } from "../shared/http/connection.ts";
import { type DuplexSocket, localDuplex } from "../shared/sockets/duplex.ts";
import { toTransportError } from "../shared/http/to-transport-error.ts";
import { endToEnd, handshakeHeaders } from "../shared/http/header-pairs.ts";
import { offeredProtocol } from "../shared/sockets/subprotocol.ts";
import { workerdDecodes } from "./fetch-transport.ts";
import { decodedHeaders, type Send } from "../shared/http/fetch-transport.ts";

/** Bytes a second that a peer is taken to read. */
const READ_RATE: number = MAX_DUPLEX_MESSAGE;
/** Bytes of a refusal's body that are handed on. */
const REFUSAL_BYTES = 64 * 1024;

/** `WebSockets` of an isolate; `guarded` finds out how a request that a caller steers may leave. */
export function workerWebSockets(system: System, guarded: (url: string) => Send): WebSockets {
  return {
    accept(request, { protocol } = {}) {
      requireWebSocketUpgrade(request);
      const { 0: client, 1: server } = new WebSocketPair();
      const selected = offeredProtocol(request, protocol);
      const local = localDuplex(() => selected ?? "");
      local.attach(wire(server, local.events, system));
      const headers: Record<string, string> =
        selected === undefined ? {} : { "sec-websocket-protocol": selected };
      const response = new Response(null, { status: 101, webSocket: client, headers });
      return { response, duplex: local.duplex };
    },
    dial: (request) => dial(request, system, guarded),
  };
}

async function dial(
  request: DialRequest,
  system: System,
  guarded: (url: string) => Send,
): Promise<Dialled> {
  const { signal, timeoutMs } = request;
  const url = request.url.replace(/^ws/, "http");
  const control = new AbortController();
  const over = new AbortController();
  const late = new TransportError("late", `No answer within ${timeoutMs} ms`);
  const onAbort = (): void => {
    control.abort(new TransportError("aborted", "The request was aborted"));
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = system.sleep(timeoutMs, over.signal).then(
    () => {
      control.abort(late);
    },
    () => undefined,
  );
  try {
    control.signal.throwIfAborted();
    const send: Send = request.reach === "public" ? guarded(url) : (one) => fetch(one);
    const response = await send(
      new Request(url, { headers: headersOf(request), signal: control.signal }),
    );
    const socket = response.webSocket;
    if (socket === null) return { refusal: await refusalOf(response) };
    const protocol = response.headers.get("sec-websocket-protocol") ?? "";
    if (protocol === "" && (request.protocols?.length ?? 0) > 0) {
      socket.accept();
      socket.close(1002, "No subprotocol was selected");
      throw new TransportError("unreachable", "The server selected none of the subprotocols");
    }
    const local = localDuplex(() => protocol);
    local.attach(wire(socket, local.events, system));
    return { duplex: local.duplex };
  } catch (error) {
    throw toTransportError(control.signal.reason ?? error, signal, "unreachable");
  } finally {
    signal.removeEventListener("abort", onAbort);
    over.abort();
    await timer;
  }
}

function headersOf({ headers, protocols = [] }: DialRequest): [string, string][] {
  const offered: HeaderPair[] =
    protocols.length === 0 ? [] : [["sec-websocket-protocol", protocols.join(", ")]];
  return [...handshakeHeaders(headers), ...offered, ["upgrade", "websocket"] as const].map(
    ([name, value]) => [name, value],
  );
}

async function refusalOf(response: Response): Promise<InboundResponse> {
  const pairs: HeaderPair[] = [...response.headers].map(([name, value]) => [name, value]);
  const headers = endToEnd(pairs, ["content-length", ...decodedHeaders(response, workerdDecodes)]);
  const body =
    response.body === null ? new Uint8Array(0) : await firstBytes(response.body, REFUSAL_BYTES);
  return { status: response.status, headers, body };
}

/**
 * workerd does not report how much of a socket is unsent (cloudflare/workerd#988): bytes handed over are assumed to be read
 * at a steady rate.
 */
function wire(socket: WebSocket, events: SocketEvents, system: System): DuplexSocket {
  let unread = 0;
  let at = system.now();
  const settle = (): void => {
    const now = system.now();
    unread = Math.max(0, unread - (Math.max(0, now - at) / 1000) * READ_RATE);
    at = now;
  };
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch {
      // Closed between the peer's close and its event.
    }
  };
  socket.binaryType = "arraybuffer";
  socket.addEventListener("message", ({ data }) => {
    events.message(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
  });
  socket.addEventListener("close", ({ code, reason }) => {
    const isNone = code === 1005 || code === 1006;
    // workerd takes any number; elsewhere a frame with a code that cannot be in one breaks the protocol.
    const reported = isNone || isSendableCode(code) ? code : 1002;
    // It leaves the answer to a close frame to us.
    attempt(() => {
      socket.close(isNone ? 1000 : reported, reported === code ? reason : "");
    });
    events.close(reported, reported === code ? reason : "");
  });
  socket.addEventListener("error", () => {
    events.close(1006, "");
  });
  socket.accept();
  events.open();
  return {
    buffered() {
      settle();
      return unread;
    },
    send(message) {
      settle();
      unread += typeof message === "string" ? message.length : message.byteLength;
      attempt(() => {
        socket.send(message);
      });
    },
    close(code, reason) {
      attempt(() => {
        socket.close(code, reason);
      });
    },
    terminate() {
      // workerd has no way to drop a connection, so that the close is reported at once.
      events.close(1006, "");
    },
  };
}
