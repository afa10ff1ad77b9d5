import type { RawSocket, SocketEvents } from "../shared/http/connection.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";

/** Deno pings by itself and drops a peer that is silent for this long, in seconds. */
const IDLE_S = 50;

/** Upgrades a request of `Deno.serve` or `deno serve`. */
export const denoUpgrade: Upgrade = (request, protocol, events) => {
  try {
    const isListed = protocol === undefined || listAsDenoReads(request).includes(protocol);
    const options = { idleTimeout: IDLE_S, ...(isListed && protocol ? { protocol } : {}) };
    const { socket, response } = Deno.upgradeWebSocket(request, options);
    if (!isListed) response.headers.set("sec-websocket-protocol", protocol);
    return { socket: wire(socket, events), response };
  } catch {
    // Not a request of Deno's server, or a malformed handshake.
    return null;
  }
};

/** Deno splits the list at ", "; clients like `ws` send it without the space, which is as good (RFC 9110 section 5.6.1). */
function listAsDenoReads(request: Request): string[] {
  return request.headers.get("sec-websocket-protocol")?.split(", ") ?? [];
}

function wire(socket: WebSocket, events: SocketEvents): RawSocket {
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    events.open();
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    events.message(typeof data === "string" ? data : new Uint8Array(data));
  };
  socket.onclose = ({ code, reason }) => {
    // 0: the peer broke the protocol, or sent a code that Deno does not know.
    events.close(code === 0 ? 1006 : code, reason);
  };
  // "close" follows.
  socket.onerror = () => undefined;
  return {
    buffered: () => socket.bufferedAmount,
    send(message) {
      // Between the peer's close and our "close" event.
      if (socket.readyState === WebSocket.OPEN)
        socket.send(message as string | Uint8Array<ArrayBuffer>);
    },
    close: (code, reason) => {
      socket.close(code, reason);
    },
    terminate() {
      // Deno has no way to drop a connection; whoever waits for its end need not.
      events.close(1006, "");
    },
  };
}
