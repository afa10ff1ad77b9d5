import type { WebSocket } from "ws";
import type { SocketEvents } from "../http/connection.ts";
import type { DuplexSocket } from "./duplex.ts";

/** How often a connection is pinged, so that middleboxes keep it and dead peers are noticed, in ms. */
const PING_MS = 25_000;

/** Tells what happens on a socket of `ws`, open or about to open, and hands over its controls. */
export function wireSocket(socket: WebSocket, events: SocketEvents): DuplexSocket {
  let alive = true;
  let fault: number | undefined;
  let ping: ReturnType<typeof setInterval> | undefined;
  const open = (): void => {
    ping = setInterval(() => {
      // While we read nothing we see no answer either.
      if (socket.isPaused) return;
      if (!alive) socket.terminate();
      alive = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    }, PING_MS);
    ping.unref();
    events.open();
  };
  socket.on("pong", () => {
    alive = true;
  });
  socket.on("message", (data: Buffer, isBinary) => {
    // A late message shows that the peer lives, even when its pongs wait behind it.
    alive = true;
    events.message(isBinary ? new Uint8Array(data) : data.toString("utf8"));
  });
  socket.on("close", (code, reason) => {
    clearInterval(ping);
    events.close(fault ?? code, reason.toString("utf8"));
  });
  // "close" follows. After a violation it says 1006, whatever code `ws` has sent to the peer.
  socket.on("error", (error) => {
    fault = faultOf(error);
  });
  if (socket.readyState === socket.OPEN) queueMicrotask(open);
  else socket.once("open", open);
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
    pause: () => {
      socket.pause();
    },
    resume: () => {
      alive = true;
      socket.resume();
    },
  };
}

/** Returns the close code for what a peer did wrong (RFC 6455 section 7.4.1). */
function faultOf(error: Error): number | undefined {
  const code = "code" in error ? String(error.code) : "";
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return 1009;
  if (code === "WS_ERR_INVALID_UTF8") return 1007;
  return code.startsWith("WS_ERR_") ? 1002 : undefined;
}
