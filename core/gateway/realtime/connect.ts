import type { GatewayAdmission } from "../entry/admission.ts";
import type { Platform } from "../../ports.ts";
import { headerPairs } from "../wire/header-hygiene.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { socketToken } from "./socket-token.ts";
import { socketActorName, type SocketParts, universalSocketKind } from "./universal-socket.ts";
import { requireWebSocketUpgrade } from "../../http/origins/websocket-upgrade.ts";
import { checkHandshake } from "../wire/websocket.ts";

/** Gateways of different options that one platform can serve WebSockets for. */
const KINDS = 16;

export interface UniversalSockets {
  /** Throws `upgrade_required` for a request other than an upgrade, and the errors of `admit`. */
  connect(request: Request, name: GatewayName): Promise<Response>;
}

export interface ConnectParts extends SocketParts {
  readonly platform: Pick<Platform, "actors">;
  readonly admission: GatewayAdmission;
}

/** Registers the actors of a gateway's WebSockets; several gateways of one platform get kinds of their own. */
export function universalSockets(parts: ConnectParts): UniversalSockets {
  const { actors } = parts.platform;
  const kind = defineKind(parts);
  return {
    async connect(request, name) {
      requireWebSocketUpgrade(request);
      const headers = headerPairs(request);
      checkHandshake(headers);
      await parts.admission.connect(name, socketToken(headers), request);
      return actors.get(kind, socketActorName(name, parts.system.random(1)[0] ?? 0)).fetch(request);
    },
  };
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
