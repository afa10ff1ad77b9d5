import type { SocketEvents } from "../shared/http/connection.ts";
import type { DuplexSocket } from "../shared/sockets/duplex.ts";
import { ownBytes } from "./body.ts";
import { sizeOf } from "./peer-socket.ts";
import type { SocketMessage, SocketOrder } from "./messages.ts";

/** The lock owner's end of a WebSocket that a peer holds. */
export interface RemoteSocket {
  readonly socket: DuplexSocket;
  /** Takes what the peer tells. */
  hear(message: SocketMessage): void;
}

/** Stands for the WebSocket of another process: what an actor sends becomes orders to that. */
export function remoteSocket(
  id: number,
  events: SocketEvents,
  order: (order: SocketOrder) => void,
): RemoteSocket {
  let unsent = 0;
  let isClosed = false;
  const closed = (code: number, reason: string): void => {
    if (isClosed) return;
    isClosed = true;
    unsent = 0;
    events.close(code, reason);
  };
  return {
    socket: {
      buffered: () => unsent,
      send(data) {
        if (isClosed) return;
        unsent += sizeOf(data);
        order({ type: "send", id, data: typeof data === "string" ? data : ownBytes(data) });
      },
      close(code, reason) {
        order({ type: "close", id, code, reason });
      },
      terminate() {
        order({ type: "terminate", id });
        closed(1006, "");
      },
    },
    hear(message) {
      if (message.type === "opened") events.open();
      else if (message.type === "heard") events.message(message.data);
      else if (message.type === "flushed") unsent -= message.bytes;
      else closed(message.code, message.reason);
    },
  };
}
