import type { SocketEvents } from "../shared/http/connection.ts";
import type { DuplexSocket } from "../shared/sockets/duplex.ts";
import { sizeOf } from "./peer-socket.ts";
import type { SocketMessage, CarriedSocketOptions, SocketOrder } from "./messages.ts";

/** The actor's end of a WebSocket that a peer holds. */
export interface RemoteSocket {
  readonly socket: DuplexSocket;
  /** How the peer has to upgrade. */
  readonly options: CarriedSocketOptions;
  /** Sends the orders that have waited until then, and all that follow. */
  attach(order: (order: SocketOrder) => void): void;
  /** Takes what the peer tells. */
  hear(message: SocketMessage): void;
  /** The peer, or the way to it, is gone. */
  lost(): void;
}

/** Stands for the WebSocket of another process: what an actor sends becomes orders to that. */
export function remoteSocket(events: SocketEvents, options: CarriedSocketOptions): RemoteSocket {
  const early: SocketOrder[] = [];
  let order = (one: SocketOrder): void => void early.push(one);
  let unsent = 0;
  let isClosed = false;
  const closed = (code: number, reason: string): void => {
    if (isClosed) return;
    isClosed = true;
    unsent = 0;
    events.close(code, reason);
  };
  return {
    options,
    socket: {
      buffered: () => unsent,
      send(data) {
        if (isClosed) return;
        unsent += sizeOf(data);
        order({ type: "send", data });
      },
      close(code, reason) {
        order({ type: "close", code, reason });
      },
      terminate() {
        order({ type: "terminate" });
        closed(1006, "");
      },
    },
    attach(send) {
      order = send;
      for (const one of early.splice(0)) send(one);
    },
    hear(message) {
      if (message.type === "opened") events.open();
      else if (message.type === "heard") events.message(message.data);
      else if (message.type === "flushed") unsent -= message.bytes;
      else closed(message.code, message.reason);
    },
    lost: () => {
      closed(1006, "");
    },
  };
}
