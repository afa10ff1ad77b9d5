import type { WebSockets } from "../../core/net/duplex.ts";
import { ApiError } from "../../core/http/api-error.ts";
import { TransportError } from "../../core/net/transport-error.ts";
import { handshakeHeaders } from "../shared/http/header-pairs.ts";
import { localDuplex } from "../shared/sockets/duplex.ts";
import type { Upgrade } from "../shared/sockets/sockets.ts";
import { standardSocket } from "../shared/sockets/standard-socket.ts";
import type { CheckTarget } from "./egress.ts";

/** A WebSocket that a server has accepted, as `Deno.upgradeWebSocket()` gives it. */
export interface AcceptedWebSocket {
  /** Open, or about to open. */
  readonly socket: WebSocket;
  /** The response that completes the handshake. */
  readonly response: Response;
}

/** Upgrades the request that the server received, and selects the subprotocol if there is one. */
export type AcceptWebSocket = (request: Request, protocol: string | undefined) => AcceptedWebSocket;

/** Why WebSockets are missing. */
export const NO_UPGRADE: string =
  "A standard fetch handler cannot upgrade a request: pass memoryPlatform({ acceptWebSocket })";

/** Returns the port's form of the host's function. */
export function standardUpgrade(accept: AcceptWebSocket | undefined): Upgrade {
  return (request, protocol, events) => {
    if (accept === undefined) throw new ApiError("missing_capability", { message: NO_UPGRADE });
    const { socket, response } = accept(request, protocol);
    const wire = standardSocket(socket, events);
    // Its "open" event fired before a listener was attached.
    if (socket.readyState === socket.OPEN) queueMicrotask(() => events.open());
    return { socket: wire, response };
  };
}

type Dial = WebSockets["dial"];

/** Does the same, but first checks an address that a caller steers. */
export function checkedDial(dial: Dial, check: CheckTarget): Dial {
  return async (request) => {
    if (request.reach === "public") await check(request.url.replace(/^ws/u, "http"));
    return dial(request);
  };
}

/**
 * Opens a WebSocket by means of the standard client, which sends no headers, shows no refusal and cannot stop a server
 * that sends too fast.
 */
export const standardDial: Dial = async ({ url, headers, protocols = [], timeoutMs, signal }) => {
  if (handshakeHeaders(headers).length > 0) {
    const message =
      "The standard WebSocket client sends no headers: pass memoryPlatform({ dialWebSocket })";
    throw new ApiError("missing_capability", { message });
  }
  const socket = new WebSocket(url.replace(/^http/u, "ws"), [...protocols]);
  const local = localDuplex(() => socket.protocol);
  local.attach(standardSocket(socket, local.events));
  await opening(socket, timeoutMs, signal);
  return { duplex: local.duplex };
};

function opening(socket: WebSocket, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      finish();
    };
    const fail = (error: TransportError): void =>
      settle(() => {
        socket.close();
        reject(error);
      });
    const onAbort = (): void => fail(aborted());
    const timer = setTimeout(
      () => fail(new TransportError("late", `No answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    socket.addEventListener("open", () => settle(resolve));
    socket.addEventListener("close", () =>
      fail(new TransportError("unreachable", "The server opened no WebSocket")),
    );
  });
}

function aborted(): TransportError {
  return new TransportError("aborted", "The request was aborted");
}
