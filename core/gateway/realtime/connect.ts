import { ApiError } from "../../http/api-error.ts";
import type { Admission } from "../entry/admit.ts";
import type { HeaderPair, Platform } from "../../ports.ts";
import { headerPairs, headerValue } from "../wire/header-hygiene.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import { socketToken } from "./socket-token.ts";
import { socketActorName, type SocketParts, universalSocketKind } from "./universal-socket.ts";

/** Gateways of different options that one platform can serve WebSockets for. */
const KINDS = 16;

/** Accepts universal WebSockets. */
export interface UniversalSockets {
  /** Throws `upgrade_required` for a request that is no upgrade, and what `admit` throws. */
  connect(request: Request, name: GatewayName): Promise<Response>;
}

/** What {@link universalSockets} works with. */
export interface ConnectParts extends SocketParts {
  readonly platform: Pick<Platform, "actors">;
  readonly admission: Admission;
}

/** Registers the actors of a gateway's WebSockets; several gateways of one platform get kinds of their own. */
export function universalSockets(parts: ConnectParts): UniversalSockets {
  const { actors } = parts.platform;
  const kind = defineKind(parts);
  return {
    async connect(request, name) {
      if (!isUpgrade(request)) {
        throw new ApiError("upgrade_required", { headers: { upgrade: "websocket" } });
      }
      const headers = headerPairs(request);
      checkHandshake(headers);
      await parts.admission.connect(name, socketToken(headers));
      return actors.get(kind, socketActorName(name, parts.system.random(1)[0] ?? 0)).fetch(request);
    },
  };
}

/** Whether a request asks for a WebSocket. */
export function isUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/**
 * Refuses a handshake that no server may accept (RFC 6455, section 4.2.1), before a provider is asked: not every
 * runtime tells afterwards that it has refused. Throws `upgrade_required` or `invalid_request`.
 */
export function checkHandshake(headers: readonly HeaderPair[]): void {
  const key = headerValue(headers, "sec-websocket-key");
  const version = headerValue(headers, "sec-websocket-version");
  // Within a process nobody shakes hands.
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

function defineKind(parts: ConnectParts): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? "gateway-socket" : `gateway-socket-${number}`;
    try {
      parts.platform.actors.define(universalSocketKind(name, parts));
      return name;
    } catch (error) {
      // Taken by another gateway() of the same platform; the order is the same in every process.
      if (number === KINDS) throw error;
    }
  }
}
