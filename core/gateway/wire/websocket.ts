import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { headerValue } from "./header-hygiene.ts";

/**
 * Refuses a handshake that no server may accept (RFC 6455, section 4.2.1), before a provider is asked: not every
 * runtime tells afterwards that it has refused. Throws `upgrade_required` or `invalid_request`.
 */
export function checkHandshake(headers: readonly HeaderPair[]): void {
  const key = headerValue(headers, "sec-websocket-key");
  const version = headerValue(headers, "sec-websocket-version");
  // A connection within the process has no handshake.
  if (key === null && version === null) return;
  if (version !== "13") {
    throw new ApiError("upgrade_required", {
      message: "This server speaks version 13 of the WebSocket protocol",
      headers: { upgrade: "websocket", "sec-websocket-version": "13" },
    });
  }
  if (key !== null && /^[A-Za-z0-9+/]{22}==$/.test(key)) return;
  throw new ApiError("invalid_request", {
    message: "Header sec-websocket-key: expected 16 bytes in base64",
  });
}
