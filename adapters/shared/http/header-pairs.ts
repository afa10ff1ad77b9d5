import { hopByHop } from "../../../core/http/hop-by-hop.ts";
import type { HeaderPair } from "../../../core/ports.ts";

/** Returns the pairs without hop-by-hop headers, those named in `Connection` and those in `also`. */
export function endToEnd(pairs: readonly HeaderPair[], also: readonly string[] = []): HeaderPair[] {
  const listed = listedIn(pairs, also);
  return pairs.filter(([name]) => !hopByHop.has(name) && !listed.includes(name));
}

function listedIn(pairs: readonly HeaderPair[], also: readonly string[]): readonly string[] {
  let listed: string[] | undefined;
  for (const [name, value] of pairs) {
    // The usual values name no header that could pass.
    if (name !== "connection" || value === "keep-alive" || value === "close") continue;
    listed ??= [...also];
    for (const named of value.split(",")) listed.push(named.trim().toLowerCase());
  }
  return listed ?? also;
}

/** Request headers that the runtime sets itself, or that would make it wait for an interim answer. */
export const REQUEST_FRAMING: readonly string[] = ["host", "content-length", "expect"];

/** Headers of a WebSocket handshake, which the connection itself writes. A refusal is read whole, so it keeps them. */
const HANDSHAKE: readonly string[] = [
  ...REQUEST_FRAMING,
  "accept-encoding",
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
];

/** Returns the headers that go along with the handshake of a WebSocket. */
export function handshakeHeaders(pairs: readonly HeaderPair[]): HeaderPair[] {
  return endToEnd(pairs, HANDSHAKE);
}
