import type { Upgrade } from "../shared/sockets/sockets.ts";
import { standardSocket } from "../shared/sockets/standard-socket.ts";

/** Deno pings by itself and drops a peer that is silent for this long, in seconds. */
const IDLE_S = 50;

/** Upgrades a request of `Deno.serve` or `deno serve`. */
export const denoUpgrade: Upgrade = (request, protocol, events) => {
  try {
    const isListed = protocol === undefined || listAsDenoReads(request).includes(protocol);
    const options = { idleTimeout: IDLE_S, ...(isListed && protocol ? { protocol } : {}) };
    const { socket, response } = Deno.upgradeWebSocket(request, options);
    if (!isListed) response.headers.set("sec-websocket-protocol", protocol);
    return { socket: standardSocket(socket, events), response };
  } catch {
    // Not a request of Deno's server, or a malformed handshake.
    return null;
  }
};

/** Deno splits the list at ", "; clients like `ws` send it without the space, which is as good (RFC 9110 section 5.6.1). */
function listAsDenoReads(request: Request): string[] {
  return request.headers.get("sec-websocket-protocol")?.split(", ") ?? [];
}
