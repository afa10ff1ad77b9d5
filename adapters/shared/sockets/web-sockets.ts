import { requireWebSocketUpgrade } from "../../../core/http/origins/websocket-upgrade.ts";
import { type Duplex, MAX_DUPLEX_MESSAGE, type WebSockets } from "../../../core/net/duplex.ts";
import type { System } from "../../../core/ports.ts";
import { localDuplex } from "./duplex.ts";
import { upgradeOrThrow, type Upgrade } from "./sockets.ts";

export interface WebSocketsOptions {
  readonly upgrade: Upgrade;
  readonly dial: WebSockets["dial"];
  readonly system: System;
}

/** `WebSockets` of a process: what is open when the platform closes ends with 1001. */
export function webSockets({ dial, system, upgrade }: WebSocketsOptions): WebSockets {
  const live = new Set<Duplex>();
  system.closing?.addEventListener("abort", () => {
    for (const one of live) one.close(1001, "The server is shutting down");
  });
  const track = (duplex: Duplex): void => {
    live.add(duplex);
    void duplex.closed.then(() => live.delete(duplex));
    if (system.closing?.aborted === true) duplex.close(1001, "The server is shutting down");
  };
  return {
    accept(request, { protocol } = {}) {
      requireWebSocketUpgrade(request);
      const local = localDuplex(() => protocol ?? "");
      const upgraded = upgradeOrThrow(upgrade, request, {
        protocol,
        events: local.events,
        maxMessage: MAX_DUPLEX_MESSAGE,
      });
      local.attach(upgraded.socket);
      track(local.duplex);
      return { response: upgraded.response, duplex: local.duplex };
    },
    async dial(request) {
      const dialled = await dial(request);
      if ("duplex" in dialled) track(dialled.duplex);
      return dialled;
    },
  };
}
