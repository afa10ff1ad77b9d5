import type { HeaderPair } from "../../ports.ts";
import { presentedToken, tokenOf } from "../call/gateway-token.ts";
import { headerValue } from "../wire/header-hygiene.ts";

/**
 * Returns the gateway token of an upgrade request: in its header, or in a subprotocol, because browsers send no headers
 * with a WebSocket (docs/compatibility.md).
 */
export function socketToken(headers: readonly HeaderPair[]): string | null {
  const inHeader = presentedToken(headers, true);
  if (inHeader !== null) return inHeader;
  for (const offered of (headerValue(headers, "sec-websocket-protocol") ?? "").split(",")) {
    const token = /^(?:cf|gw)-aig-authorization\.(.+)$/.exec(offered.trim())?.[1];
    if (token !== undefined) return tokenOf(token);
  }
  return null;
}
