import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { inFlight } from "../shared/http/in-flight.ts";
import type { DuplexSocket } from "../shared/sockets/duplex.ts";
import { MAX_MESSAGE_BYTES, type Upgrade } from "../shared/sockets/sockets.ts";
import { wireSocket } from "../shared/sockets/wire-socket.ts";
import { unfinishedMessages } from "./unfinished.ts";

/** An upgrade request as Node's server hands it over. */
export interface NodeUpgrade {
  readonly incoming: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Stops reading ahead. */
  release(): void;
  upgraded: boolean;
}

/** Connections that are WebSockets by now: `node:http` knows nothing of them any more. */
const accepted = inFlight<Duplex>();

/** Returns how many WebSockets of a port are open. */
export function openWebSockets(port: number | undefined): number {
  let count = 0;
  for (const socket of accepted)
    if (socket instanceof Socket && socket.localPort === port) count += 1;
  return count;
}

const unfinished = unfinishedMessages();
const pending = new WeakMap<Request, NodeUpgrade>();
const protocols = new WeakMap<IncomingMessage, string>();
/** By the size of the messages that it takes. */
const servers = new Map<number, WebSocketServer>();

function serverFor(maxPayload: number): WebSocketServer {
  const known = servers.get(maxPayload);
  if (known !== undefined) return known;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: (_offered, incoming) => protocols.get(incoming) ?? false,
  });
  servers.set(maxPayload, server);
  return server;
}

/** Remembers, while the app decides, how to upgrade the request. */
export function offerUpgrade(request: Request, upgrade: NodeUpgrade): void {
  pending.set(request, upgrade);
}

/** Upgrades a request of `serve()` by means of `ws`. */
export const nodeUpgrade: Upgrade = (request, protocol, events, maxMessage = MAX_MESSAGE_BYTES) => {
  const offer = pending.get(request);
  if (offer === undefined || offer.upgraded) return null;
  offer.upgraded = true;
  offer.release();
  if (protocol !== undefined) protocols.set(offer.incoming, protocol);
  let raw: DuplexSocket | undefined;
  serverFor(maxMessage).handleUpgrade(offer.incoming, offer.socket, offer.head, (socket) => {
    raw = wireSocket(socket, events);
    unfinished.follow(socket, offer.socket);
    offer.socket.once("close", accepted.add(offer.socket));
  });
  // `ws` has answered a malformed handshake with 400 and did not call back.
  return raw === undefined ? null : { socket: raw, response: new Response(null) };
};
