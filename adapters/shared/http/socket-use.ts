import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** How undici sent a request. */
export interface SocketUse {
  /** The connection; undefined = it was not sent yet. */
  socket?: Socket;
  /** Whether the connection had carried a request before. */
  isReused: boolean;
  /** Bytes that the connection had received before the request. */
  received: number;
}

/** Connections that have carried a request. */
const used = new WeakSet<Socket>();
/** The request that undici is about to write: it publishes the connection in the same turn. */
let starting: SocketUse | undefined;
let isSubscribed = false;

/** Begins to learn from undici which connection a request is sent on. */
export function followSockets(): void {
  if (isSubscribed) return;
  isSubscribed = true;
  // https://undici.nodejs.org/#/docs/api/DiagnosticsChannel: its handlers are not told.
  subscribe("undici:client:sendHeaders", (message) => {
    const use = starting;
    starting = undefined;
    if (use === undefined) return;
    // `as`: the documented message of the channel.
    const { socket } = message as { readonly socket: Socket };
    use.socket = socket;
    use.isReused = used.has(socket);
    use.received = socket.bytesRead;
    used.add(socket);
  });
}

/** Notes how the next request that undici writes is sent. Call it in `onRequestStart`. */
export function noteSocket(use: SocketUse): void {
  starting = use;
}

/** The ends of a connection by its peer, or by what stands in between. */
const ENDED: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/**
 * Whether a request failed because its peer closed an idle connection while the request was on its way: the peer had not
 * begun to answer on it (RFC 9112, section 9.3.1).
 */
export function metIdleClose({ socket, isReused, received }: SocketUse, error: Error): boolean {
  const isEnd = "code" in error && ENDED.has(error.code);
  return isEnd && isReused && socket?.bytesRead === received;
}
