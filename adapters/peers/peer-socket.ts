import type { SocketEvents } from "../shared/http/connection.ts";
import type { DuplexSocket } from "../shared/sockets/duplex.ts";
import { upgradeOrThrow, type Upgrade } from "../shared/sockets/sockets.ts";
import type { SocketMessage, CarriedSocketOptions, SocketOrder } from "./messages.ts";

/** A client's WebSocket at a peer, whose actor lives in another process. */
export interface PeerSocket {
  obey(order: SocketOrder): void;
  close(code: number, reason: string): void;
}

/** The connection to the owner of the actor. */
export interface SocketLink {
  readonly tell: (message: SocketMessage) => void;
  /** Bytes that the owner has not read yet. */
  readonly unsent: () => number;
}

/** How often a full socket is looked at, in ms. */
const POLL_MS = 10;
/** Unsent bytes above which a client that sends more is closed: a busy owner must not fill the memory. */
const MAX_WAITING = 16 * 1024 * 1024;
/** A client that does not answer a close frame is dropped after this. The owner may end before it could do so. */
const CLOSE_WAIT_MS = 5000;

/**
 * Upgrades a request that this process received and reports the connection's events to the owner of its actor. The response is
 * the runtime's. Throws `missing_capability` when it cannot be upgraded.
 */
export function peerSocket(
  { maxMessage, protocol }: CarriedSocketOptions,
  request: Request,
  upgrade: Upgrade,
  { tell, unsent }: SocketLink,
): { readonly socket: PeerSocket; readonly response: Response } {
  let closing: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  const events: SocketEvents = {
    open: () => {
      tell({ type: "opened" });
    },
    message: (data) => {
      if (unsent() > MAX_WAITING) close(1013, "Too many messages wait to be handled");
      else tell({ type: "heard", data });
    },
    close: (code, reason) => {
      isClosed = true;
      clearTimeout(closing);
      tell({ type: "closed", code, reason });
    },
  };
  const { response, socket } = upgradeOrThrow(upgrade, request, { protocol, events, maxMessage });
  const terminate = (): void => {
    socket.terminate();
  };
  const close = (code: number, reason: string): void => {
    if (isClosed || closing !== undefined) return;
    closing = setTimeout(terminate, CLOSE_WAIT_MS);
    try {
      socket.close(code, reason);
    } catch {
      // The runtime refuses the code or reason. The actor that chose them is in another process and cannot be notified.
      terminate();
    }
  };
  const flow = flushes(socket, (bytes) => {
    tell({ type: "flushed", bytes });
  });
  return {
    response,
    socket: {
      obey(order) {
        if (order.type === "close") close(order.code, order.reason);
        else if (order.type === "terminate") terminate();
        else {
          socket.send(order.data);
          flow.sent(sizeOf(order.data));
        }
      },
      close,
    },
  };
}

/** Returns the bytes of a message; for text its length in UTF-16 units, as on the owner's side. */
export function sizeOf(data: string | Uint8Array): number {
  return typeof data === "string" ? data.length : data.byteLength;
}

/** Reports how many sent bytes have left: the owner closes the connection of a client that is too slow. */
function flushes(
  socket: DuplexSocket,
  onSent: (bytes: number) => void,
): { sent(bytes: number): void } {
  let unsent = 0;
  let isWatched = false;
  const look = (): void => {
    // Unsent bytes are counted as on the wire: framed, and text as UTF-8.
    const left = Math.min(unsent, socket.buffered());
    if (left < unsent) onSent(unsent - left);
    unsent = left;
    isWatched = unsent > 0;
    if (isWatched) setTimeout(look, POLL_MS);
  };
  return {
    sent(bytes) {
      unsent += bytes;
      if (!isWatched) look();
    },
  };
}
