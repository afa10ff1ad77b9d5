import { ApiError } from "../../http/api-error.ts";
import { admitConnection } from "../admit.ts";
import type { GatewayDeps } from "../call.ts";
import { headerPairs } from "../header-hygiene.ts";
import type { GatewayName } from "../gateway-name.ts";
import { socketToken } from "./socket-token.ts";
import { socketActorName, universalSocketKind } from "./universal-socket.ts";

/** Gateways of different options that one platform can serve WebSockets for. */
const KINDS = 16;

/** Accepts universal WebSockets (reference, section 1.8). */
export interface UniversalSockets {
  /** Throws `upgrade_required` for a request that is no upgrade, and what `admit` throws. */
  connect(request: Request, name: GatewayName): Promise<Response>;
}

/** Registers the actors of a gateway's WebSockets; several gateways of one platform get kinds of their own. */
export function universalSockets(deps: GatewayDeps): UniversalSockets {
  const { actors, system } = deps.platform;
  const kind = defineKind(deps);
  return {
    async connect(request, name) {
      if (!isUpgrade(request)) {
        throw new ApiError("upgrade_required", { headers: { upgrade: "websocket" } });
      }
      await admitConnection(name, socketToken(headerPairs(request)), deps);
      return actors.get(kind, socketActorName(name, system.random(1)[0] ?? 0)).fetch(request);
    },
  };
}

/** Whether a request asks for a WebSocket. */
export function isUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

function defineKind(deps: GatewayDeps): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? "gateway-socket" : `gateway-socket-${number}`;
    try {
      deps.platform.actors.define(universalSocketKind(name, deps));
      return name;
    } catch (error) {
      // Taken by another gateway() of the same platform; the order is the same in every process.
      if (number === KINDS) throw error;
    }
  }
}
