import type { Server, ServerWebSocket, WebSocketHandler } from "bun";
import { MAX_DUPLEX_MESSAGE } from "../../core/net/duplex.ts";
import type { RawSocket, SocketEvents } from "../shared/http/connection.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { floodGuard } from "./flood-guard.ts";

/** The data of a Bun socket: the listener for its events. */
export interface SocketData {
  readonly events: SocketEvents;
  socket: ServerWebSocket<SocketData> | undefined;
  /** Counts a message; whether there were too many in one turn. */
  readonly isFlood: () => boolean;
}

const servers = new WeakMap<Request, Server<SocketData>>();
const upgraded = new WeakSet<Request>();

/** Remembers which server received the request. */
export function receivedBy(server: Server<SocketData>, request: Request): void {
  servers.set(request, server);
}

/** Returns the address from which Bun received a request of `serve()` or `acceptWebSockets()`. */
export function clientAddressOnBun(request: Request): string | null {
  return servers.get(request)?.requestIP(request)?.address ?? null;
}

/** Whether the request is a WebSocket by now, so that Bun expects no response to it. */
export function isUpgraded(request: Request): boolean {
  return upgraded.has(request);
}

/** Upgrades a request of `serve()`. */
export const bunUpgrade: Upgrade = (request, protocol, events) => {
  const data: SocketData = { events, socket: undefined, isFlood: floodGuard() };
  const headers: Record<string, string> =
    protocol === undefined ? {} : { "sec-websocket-protocol": protocol };
  if (servers.get(request)?.upgrade(request, { data, headers }) !== true) return null;
  upgraded.add(request);
  return { socket: wire(data), response: new Response(null) };
};

function wire(data: SocketData): RawSocket {
  return {
    buffered: () => data.socket?.getBufferedAmount() ?? 0,
    send(message) {
      // 0 = dropped: past Bun's own limit, which is far above ours; or an empty message that was sent.
      if (data.socket?.send(message) === 0 && message.length > 0) data.socket.terminate();
    },
    close: (code, reason) => {
      data.socket?.close(code, reason);
    },
    terminate: () => {
      data.socket?.terminate();
    },
  };
}

/** Hands what happens on Bun's sockets to their connections. */
export const websocket: WebSocketHandler<SocketData> = {
  // Above its own limit Bun drops the connection; a message just below it gets the honest 1009.
  maxPayloadLength: MAX_DUPLEX_MESSAGE + 1024 * 1024,
  backpressureLimit: 256 * 1024 * 1024,
  // Seconds; Bun pings before they are over.
  idleTimeout: 50,
  sendPings: true,
  perMessageDeflate: false,
  open(socket) {
    socket.data.socket = socket;
    socket.data.events.open();
  },
  message(socket, message) {
    if (socket.data.isFlood()) {
      socket.close(1013, "Too many messages at once");
      return;
    }
    socket.data.events.message(typeof message === "string" ? message : new Uint8Array(message));
  },
  close(socket, code, reason) {
    socket.data.events.close(code, reason);
  },
};
