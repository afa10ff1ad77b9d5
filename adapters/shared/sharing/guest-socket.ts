import type { SocketEvents } from "../connection.ts";
import type { DuplexSocket } from "../duplex.ts";
import { upgradeOrThrow, type Upgrade } from "../sockets.ts";
import type { SocketMessage, SocketOrder } from "./messages.ts";

/** A client's WebSocket at a guest, whose actor lives with the holder. */
export interface GuestSocket {
  obey(order: Exclude<SocketOrder, { readonly type: "upgrade" }>): void;
  close(code: number, reason: string): void;
}

/** How often a full socket is looked at, in ms. */
const POLL_MS = 10;

/**
 * Upgrades a request that this process received, and tells the holder what happens on the connection; the response is the
 * runtime's. Throws `missing_capability` when it cannot be upgraded.
 */
export function guestSocket(
  { id, maxMessage, protocol }: Extract<SocketOrder, { readonly type: "upgrade" }>,
  request: Request,
  upgrade: Upgrade,
  tell: (message: SocketMessage) => void,
): { readonly socket: GuestSocket; readonly response: Response } {
  const events: SocketEvents = {
    open: () => {
      tell({ type: "opened", id });
    },
    message: (data) => {
      tell({ type: "heard", id, data });
    },
    close: (code, reason) => {
      tell({ type: "closed", id, code, reason });
    },
  };
  const { response, socket } = upgradeOrThrow(upgrade, request, protocol, events, maxMessage);
  const flow = flushes(socket, (bytes) => {
    tell({ type: "flushed", id, bytes });
  });
  return {
    response,
    socket: {
      obey(order) {
        if (order.type === "close") socket.close(order.code, order.reason);
        else if (order.type === "terminate") socket.terminate();
        else {
          socket.send(order.data);
          flow.sent(sizeOf(order.data));
        }
      },
      close: (code, reason) => {
        socket.close(code, reason);
      },
    },
  };
}

/** Bytes of a message; of text its length in UTF-16 units, as on the holder's side. */
export function sizeOf(data: string | Uint8Array): number {
  return typeof data === "string" ? data.length : data.byteLength;
}

/** Tells how many of the bytes that were sent have left: the holder closes the connection of a client that is too slow. */
function flushes(
  socket: DuplexSocket,
  told: (bytes: number) => void,
): { sent(bytes: number): void } {
  let unsent = 0;
  let isWatched = false;
  const look = (): void => {
    // What waits is counted in bytes of the wire: framed, and text as UTF-8.
    const left = Math.min(unsent, socket.buffered());
    if (left < unsent) told(unsent - left);
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
