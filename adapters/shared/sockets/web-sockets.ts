import { type Duplex, MAX_DUPLEX_MESSAGE, type WebSockets } from "../../../core/duplex.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import type { System } from "../../../core/ports.ts";
import { type DialOptions, dialWebSocket, wsAsksLookup } from "../egress/dial.ts";
import { localDuplex } from "./duplex.ts";
import type { Resolve } from "../egress/egress-resolve.ts";
import { webSocketProxy } from "../egress/environment-proxy.ts";
import { upgradeOrThrow, type Upgrade } from "./sockets.ts";

/** Options of {@link localWebSockets}. */
export interface LocalWebSocketsOptions {
  readonly upgrade: Upgrade;
  /** Hosts that are let through although they are not public. @default [] */
  readonly allowHosts?: readonly string[] | undefined;
  /** @default the system's resolver */
  readonly resolve?: Resolve;
  /** Whether the runtime's `ws` has to be told a proxy, see `DialOptions`. @default false */
  readonly passesProxy?: boolean;
  readonly system: System;
}

/** `WebSockets` of a process: what is open when the platform closes ends with 1001. */
export function localWebSockets(options: LocalWebSocketsOptions): WebSockets {
  let asks: Promise<boolean> | undefined;
  const dialling: DialOptions = {
    allow: parseAllowHosts(options.allowHosts),
    pins: () => (asks ??= wsAsksLookup()),
    resolve: options.resolve,
    proxyFor: webSocketProxy(),
    passesProxy: options.passesProxy ?? false,
  };
  const live = new Set<Duplex>();
  options.system.closing?.addEventListener("abort", () => {
    for (const one of live) one.close(1001, "The server is shutting down");
  });
  const track = (duplex: Duplex): void => {
    live.add(duplex);
    void duplex.closed.then(() => live.delete(duplex));
    if (options.system.closing?.aborted === true) duplex.close(1001, "The server is shutting down");
  };
  return {
    accept(request, { protocol } = {}) {
      if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
        throw new ApiError("upgrade_required", { headers: { upgrade: "websocket" } });
      }
      const local = localDuplex(() => protocol ?? "");
      const upgraded = upgradeOrThrow(
        options.upgrade,
        request,
        protocol,
        local.events,
        MAX_DUPLEX_MESSAGE,
      );
      local.attach(upgraded.socket);
      track(local.duplex);
      return { response: upgraded.response, duplex: local.duplex };
    },
    async dial(request) {
      const dialled = await dialWebSocket(request, dialling);
      if ("duplex" in dialled) track(dialled.duplex);
      return dialled;
    },
  };
}
