import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import type { RawSocket, SocketEvents } from "../shared/connection.ts";
import { MAX_MESSAGE_BYTES, PING_MS, type Upgrade } from "../shared/sockets.ts";

/** What Node's server hands over for an upgrade request. */
export interface NodeUpgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  upgraded: boolean;
}

const pending = new WeakMap<Request, NodeUpgrade>();
const protocols = new WeakMap<IncomingMessage, string>();
const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  handleProtocols: (_offered, incoming) => protocols.get(incoming) ?? false,
});

/** Remembers, while the app decides, how to upgrade the request. */
export function offerUpgrade(request: Request, upgrade: NodeUpgrade): void {
  pending.set(request, upgrade);
}

/** Upgrades a request of `serve()` by means of `ws`. */
export const nodeUpgrade: Upgrade = (request, protocol, events) => {
  const offer = pending.get(request);
  if (offer === undefined || offer.upgraded) return null;
  offer.upgraded = true;
  if (protocol !== undefined) protocols.set(offer.incoming, protocol);
  let raw: RawSocket | undefined;
  server.handleUpgrade(offer.incoming, offer.socket, offer.head, (socket) => {
    raw = wire(socket, events);
  });
  // `ws` has answered a malformed handshake with 400 and called nobody.
  return raw === undefined ? null : { socket: raw, response: new Response(null) };
};

function wire(socket: WebSocket, events: SocketEvents): RawSocket {
  let alive = true;
  const ping = setInterval(() => {
    if (!alive) socket.terminate();
    alive = false;
    socket.ping();
  }, PING_MS);
  ping.unref();
  socket.on("pong", () => {
    alive = true;
  });
  socket.on("message", (data: Buffer, isBinary) => {
    events.message(isBinary ? new Uint8Array(data) : data.toString("utf8"));
  });
  socket.on("close", (code, reason) => {
    clearInterval(ping);
    events.close(code, reason.toString("utf8"));
  });
  // A protocol violation: `ws` closes with the right code and reports that as "close".
  socket.on("error", () => undefined);
  queueMicrotask(() => {
    events.open();
  });
  return {
    buffered: () => socket.bufferedAmount,
    send: (message) => {
      socket.send(message);
    },
    close: (code, reason) => {
      socket.close(code, reason);
    },
    terminate: () => {
      socket.terminate();
    },
  };
}
