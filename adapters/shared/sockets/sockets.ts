import { requireWebSocketUpgrade } from "../../../core/http/origins/websocket-upgrade.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type { AcceptOptions, Connection, Log, Sockets, System } from "../../../core/ports.ts";
import {
  localConnection,
  type ConnectionLimits,
  type ConnectionOwner,
  type LocalConnection,
  type SocketEvents,
} from "../http/connection.ts";
import type { DuplexSocket } from "./duplex.ts";
import { offeredProtocol } from "./subprotocol.ts";

/**
 * Upgrades the very request that the runtime's server received; null for any other request. A message over `maxMessage`
 * bytes may end the connection without an event. @default MAX_MESSAGE_BYTES
 */
export type Upgrade = (
  request: Request,
  protocol: string | undefined,
  events: SocketEvents,
  maxMessage?: number,
) => { readonly socket: DuplexSocket; readonly response: Response } | null;

/** Something that happened to a connection and that its actor has to hear. */
export type SocketEvent =
  | { readonly type: "message"; readonly data: string | Uint8Array }
  | { readonly type: "close"; readonly code: number; readonly reason: string };

/** Hands an event to the actor; settles when the actor is through with it. */
export type Deliver = (actor: string, connection: Connection, event: SocketEvent) => Promise<void>;

/** Options of {@link socketRegistry}. */
export interface SocketOptions {
  readonly upgrade: Upgrade;
  readonly deliver: Deliver;
  readonly system: System;
  readonly log: Log;
  /** Unsent bytes per connection above which it is closed with 1013. @default 1 MiB */
  readonly maxBuffered?: number | undefined;
}

/** All connections of a process; they outlive the instances of their actors. */
export interface SocketRegistry {
  of(actor: string): Sockets;
  /** Connections whose close handshake is not over are counted too. */
  size(): number;
  /** Closes the connections of all actors, or of those that are meant. */
  closeAll(code: number, reason: string, isMeant?: (actor: string) => boolean): void;
}

/** Bytes of one message above which a connection is closed with 1009. */
export const MAX_MESSAGE_BYTES: number = 1024 * 1024;

/** Bounds of a connection, see `Connection.send`. */
const LIMITS: ConnectionLimits = {
  maxBuffered: 1024 * 1024,
  maxFrames: 256,
  // Deno sends nothing before the end of the turn: a burst of one turn says nothing about the client.
  framesWaitMs: 1000,
  maxMessage: MAX_MESSAGE_BYTES,
};

/** Keeps the connections of all actors of a process. */
export function socketRegistry(options: SocketOptions): SocketRegistry {
  const { deliver, log, system } = options;
  const limits = { ...LIMITS, maxBuffered: options.maxBuffered ?? LIMITS.maxBuffered };
  const byActor = new Map<string, Map<string, LocalConnection>>();
  let live = 0;

  async function tell(actor: string, from: Connection, event: SocketEvent): Promise<void> {
    try {
      await deliver(actor, from, event);
    } catch (error) {
      log("error", "A socket handler failed", { event: event.type, error: String(error) });
    }
  }

  function ownerOf(actor: string): ConnectionOwner {
    return {
      message: (from, data) => tell(actor, from, { type: "message", data }),
      gone(connection) {
        const all = byActor.get(actor);
        // A newer connection may have taken the id over.
        if (all?.get(connection.id) !== connection) return;
        all.delete(connection.id);
        if (all.size === 0) byActor.delete(actor);
      },
      closed(connection, code, reason) {
        live -= 1;
        void tell(actor, connection, { type: "close", code, reason });
      },
    };
  }

  function accept(actor: string, request: Request, accepting: AcceptOptions): Response {
    requireWebSocketUpgrade(request);
    const id = accepting.id ?? system.id();
    const { maxMessage = limits.maxMessage } = accepting;
    const own = { ...limits, maxMessage };
    const connection = localConnection(id, accepting, own, ownerOf(actor));
    const upgraded = upgradeOrThrow(options.upgrade, request, {
      protocol: accepting.protocol,
      events: connection.events,
      maxMessage,
    });
    live += 1;
    connection.attach(upgraded.socket);
    byActor.get(actor)?.get(id)?.close(1000, "Replaced by a newer connection");
    const all = byActor.get(actor) ?? new Map<string, LocalConnection>();
    byActor.set(actor, all.set(id, connection));
    return upgraded.response;
  }

  return {
    of: (actor) => ({
      accept: (request, accepting = {}) => accept(actor, request, accepting),
      ...groupOf(() => listed(byActor.get(actor))),
    }),
    size: () => live,
    closeAll(code, reason, isMeant = () => true) {
      const meant = [...byActor].filter(([actor]) => isMeant(actor));
      for (const one of meant.flatMap(([, all]) => listed(all))) one.close(code, reason);
    },
  };
}

/** Sends to several connections. `all` lists a copy: a send may close its connection and by that remove it. */
function groupOf(all: () => readonly Connection[]): Pick<Sockets, "broadcast" | "connections"> {
  return {
    broadcast(text, except = []) {
      for (const connection of all()) {
        if (!except.includes(connection.id)) connection.send(text);
      }
    },
    connections: (tag) =>
      tag === undefined ? all() : all().filter((one) => one.tags.includes(tag)),
  };
}

/** The protocol and the events of a socket, and how long its messages may be. */
export interface SocketTerms {
  readonly protocol: string | undefined;
  readonly events: SocketEvents;
  readonly maxMessage?: number | undefined;
}

/** Upgrades, or throws `missing_capability`. */
export function upgradeOrThrow(
  upgrade: Upgrade,
  request: Request,
  { protocol, events, maxMessage }: SocketTerms,
): NonNullable<ReturnType<Upgrade>> {
  const upgraded = upgrade(request, offeredProtocol(request, protocol), events, maxMessage);
  if (upgraded !== null) return upgraded;
  const message =
    "This server cannot upgrade the request: give it acceptWebSockets(app), and in place of app.mount(), which copies the request, write app.route('/prefix', api), see docs/agents/connecting.md";
  throw new ApiError("missing_capability", { message });
}

function listed(connections: ReadonlyMap<string, LocalConnection> | undefined): LocalConnection[] {
  return [...(connections?.values() ?? [])];
}
