import { requireWebSocketUpgrade } from "../../../core/http/origins/websocket-upgrade.ts";
import { ApiError, invalidRequest } from "../../../core/http/api-error.ts";
import type { AcceptOptions, Connection, Plain, Sockets, System } from "../../../core/ports.ts";
import type { VanishedPeers } from "../../../core/ports/sockets.ts";
import { offeredProtocol } from "../../shared/sockets/subprotocol.ts";
import { sendBudget, type SendBudget } from "./send-budget.ts";

/** Bounds of a WebSocket, from the port's contract and from workerd (10 tags of 256 characters). */
const MAX_TAGS = 9;
const MAX_TAG_LENGTH = 256;
const MAX_ATTACHMENT_LENGTH = 2048;

/** The data that stays with a hibernating socket. */
interface Attachment {
  readonly tags: readonly string[];
  readonly value: Plain;
  readonly maxMessage: number | undefined;
  /** When it was accepted, in Unix ms. */
  readonly since: number;
  /** When the last message came, to {@link HEARD_MS}. @default none came */
  readonly heardAt?: number;
  /** Whether it was ended because its peer had vanished: the actor has heard of that. @default false */
  readonly isEnded?: boolean;
}

/** Bytes of one message, unless its connection was accepted with another limit. */
const MAX_MESSAGE = 1024 * 1024;

/** Milliseconds after which the time of a message is noted again. */
const HEARD_MS = 1000;

/** The sockets of one object, and the connection of one of them. */
export interface ObjectSockets extends Sockets {
  connectionOf(socket: WebSocket): Connection;
  readonly vanished: VanishedPeers;
  /** Bytes of one message that a connection takes. */
  maxMessage(socket: WebSocket): number;
  /** Notes that a message came. */
  heard(socket: WebSocket): void;
  /** Whether the actor has heard of the connection's end already. */
  isEnded(socket: WebSocket): boolean;
}

export interface ObjectSocketLimits {
  /** Bytes that may be on their way to one client. @default 1 MiB */
  readonly budgetBytes?: number;
  /** The time between two looks at silent connections, in ms. @default 30,000 */
  readonly lookMs?: number | undefined;
}

/**
 * `Sockets` over the hibernation API: connections outlive the object in memory, and a text frame `ping` is
 * answered `pong` without waking it.
 */
export function objectSockets(
  ctx: DurableObjectState,
  system: System,
  { budgetBytes = 1024 * 1024, lookMs = 30_000 }: ObjectSocketLimits = {},
): ObjectSockets {
  const budget = sendBudget(budgetBytes, () => system.now());
  ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  const connectionOf = (socket: WebSocket): Connection => connection(ctx, socket, budget);
  const open = (tag?: string): Connection[] =>
    ctx
      .getWebSockets(tag)
      .filter(isOpen)
      .map(connectionOf)
      // The id is a native tag too, so that a lookup by id is one; the port does not see it as a tag.
      .filter((one) => tag === undefined || one.tags.includes(tag));

  return {
    connectionOf,
    heard(socket) {
      const [attachment, now] = [readAttachment(socket), system.now()];
      if (now - (attachment.heardAt ?? 0) < HEARD_MS) return;
      socket.serializeAttachment({ ...attachment, heardAt: now } satisfies Attachment);
    },
    isEnded: (socket) => readAttachment(socket).isEnded === true,
    vanished: vanishedPeers({ connectionOf, ctx, lookMs, system }),
    maxMessage: (socket) => readAttachment(socket).maxMessage ?? MAX_MESSAGE,
    connections: open,
    hibernates: true,
    accept(request, options = {}) {
      const { 0: client, 1: server } = new WebSocketPair();
      const id = options.id ?? system.id();
      checkUpgrade(request, id, options.tags ?? []);
      replace(ctx, id);
      ctx.acceptWebSocket(server, [...new Set([id, ...(options.tags ?? [])])]);
      writeAttachment(server, {
        tags: options.tags ?? [],
        value: options.attachment,
        maxMessage: options.maxMessage,
        since: system.now(),
      });
      return new Response(null, {
        status: 101,
        webSocket: client,
        headers: protocolHeader(request, options),
      });
    },
    broadcast(text, except = []) {
      for (const one of open()) if (!except.includes(one.id)) one.send(text);
    },
  };
}

interface VanishedDeps {
  readonly ctx: DurableObjectState;
  readonly system: System;
  readonly lookMs: number;
  readonly connectionOf: (socket: WebSocket) => Connection;
}

/**
 * workerd sends no pings, and may keep a connection whose client is gone (cloudflare/workerd#1187). Clients that send `ping`
 * are answered by the platform, which keeps the time of each answer over hibernation, as an attachment keeps that of a message.
 * A client that never did may just have nothing to say.
 */
function vanishedPeers(deps: VanishedDeps): VanishedPeers {
  const { connectionOf, ctx, lookMs, system } = deps;
  const pingedAt = (socket: WebSocket): number | null =>
    ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? null;
  const isSilent = (socket: WebSocket): boolean => {
    const pinged = pingedAt(socket);
    if (pinged === null) return false;
    return system.now() - Math.max(pinged, readAttachment(socket).heardAt ?? 0) >= 2 * lookMs;
  };
  const open = (): WebSocket[] => ctx.getWebSockets().filter(isOpen);
  return {
    everyMs: lookMs,
    isNeeded: () =>
      open().some(
        (socket) =>
          pingedAt(socket) !== null || system.now() - readAttachment(socket).since < lookMs,
      ),
    end() {
      const silent = open().filter(isSilent);
      for (const socket of silent) {
        socket.serializeAttachment({ ...readAttachment(socket), isEnded: true });
        // For one that only slept: it may come back.
        socket.close(1001, "No ping came any more: connect again");
      }
      return silent.map(connectionOf);
    },
  };
}

function checkUpgrade(request: Request, id: string, tags: readonly string[]): void {
  requireWebSocketUpgrade(request);
  if (id === "" || id.length > MAX_TAG_LENGTH) {
    throw invalidRequest(`A connection id has 1 to ${MAX_TAG_LENGTH} characters`);
  }
  if (tags.length <= MAX_TAGS && tags.every((tag) => tag !== "" && tag.length <= MAX_TAG_LENGTH))
    return;
  throw new ApiError("internal", {
    message: `A connection has at most ${MAX_TAGS} tags of 1 to ${MAX_TAG_LENGTH} characters`,
  });
}

function protocolHeader(request: Request, options: AcceptOptions): Record<string, string> {
  const protocol = offeredProtocol(request, options.protocol);
  return protocol === undefined ? {} : { "sec-websocket-protocol": protocol };
}

/** Closes the older connection of the same id. */
function replace(ctx: DurableObjectState, id: string): void {
  for (const socket of ctx.getWebSockets(id)) {
    if (idOf(ctx, socket) === id) socket.close(1000, "Replaced by a newer connection");
  }
}

function idOf(ctx: DurableObjectState, socket: WebSocket): string {
  return ctx.getTags(socket)[0] ?? "";
}

function isOpen(socket: WebSocket): boolean {
  return socket.readyState === WebSocket.OPEN;
}

function connection(ctx: DurableObjectState, socket: WebSocket, budget: SendBudget): Connection {
  return {
    id: idOf(ctx, socket),
    get tags() {
      return readAttachment(socket).tags;
    },
    get attachment() {
      return readAttachment(socket).value;
    },
    set attachment(value) {
      writeAttachment(socket, { ...readAttachment(socket), value });
    },
    get buffered() {
      return budget.pending(socket);
    },
    // workerd does not report it, and a guess would close clients that read.
    queued: 0,
    send(message) {
      if (!isOpen(socket)) return false;
      const size = typeof message === "string" ? message.length : message.byteLength;
      if (!budget.spend(socket, size)) {
        socket.close(1013, "Too many unread messages: connect again to resume");
        return false;
      }
      socket.send(message);
      return true;
    },
    close(code = 1000, reason = "") {
      if (isOpen(socket)) socket.close(code, reason);
    },
  };
}

function readAttachment(socket: WebSocket): Attachment {
  return (socket.deserializeAttachment() ?? noAttachment) as Attachment;
}

const noAttachment: Attachment = {
  tags: [],
  value: undefined,
  maxMessage: undefined,
  since: 0,
};

function writeAttachment(socket: WebSocket, attachment: Attachment): void {
  if ((JSON.stringify(attachment.value) ?? "").length > MAX_ATTACHMENT_LENGTH) {
    throw new ApiError("internal", {
      message: `An attachment has at most ${MAX_ATTACHMENT_LENGTH} characters as JSON`,
    });
  }
  socket.serializeAttachment({ ...attachment, tags: [...attachment.tags] } satisfies Attachment);
}
