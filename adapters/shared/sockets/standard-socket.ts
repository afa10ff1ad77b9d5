import type { RawSocket, SocketEvents } from "../http/connection.ts";

/** The reason with which Deno ends a connection whose peer answers no ping, as if one of the two had left (1001). */
const DENO_SILENCE = "No response from ping frame.";

/** Tells what happens on a standard `WebSocket` (https://websockets.spec.whatwg.org), and hands over its controls. */
export function standardSocket(socket: WebSocket, events: SocketEvents): RawSocket {
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    events.open();
  };
  socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    events.message(typeof data === "string" ? data : new Uint8Array(data));
  };
  socket.onclose = ({ code, reason }) => {
    if (reason === DENO_SILENCE) return events.close(1006, "");
    // 0: on Deno the peer broke the protocol, or sent a code that Deno does not know.
    events.close(code === 0 ? 1006 : code, reason);
  };
  // "close" follows.
  socket.onerror = () => undefined;
  return {
    buffered: () => socket.bufferedAmount,
    send(message) {
      // Between the peer's close and our "close" event.
      if (socket.readyState === socket.OPEN)
        socket.send(message as string | Uint8Array<ArrayBuffer>);
    },
    close: (code, reason) => {
      socket.close(code, reason);
    },
    terminate() {
      // The standard has no way to drop a connection, so that the close is reported at once.
      events.close(1006, "");
    },
  };
}
