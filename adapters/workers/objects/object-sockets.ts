import { ApiError } from "../../../core/http/api-error.ts";
import type { AcceptOptions, Connection, Plain, Sockets, System } from "../../../core/ports.ts";
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
}

/** Bytes of one message, unless its connection was accepted with another limit. */
const MAX_MESSAGE = 1024 * 1024;

/** The sockets of one object, and the connection of one of them. */
export interface ObjectSockets extends Sockets {
  connectionOf(socket: WebSocket): Connection;
  /** Bytes of one message that a connection takes. */
  maxMessage(socket: WebSocket): number;
}

/**
 * `Sockets` over the hibernation API: connections outlive the object in memory, and a text frame `ping` is
 * answered `pong` without waking it.
 */
export function objectSockets(
  ctx: DurableObjectState,
  system: System,
  budgetBytes: number = 1024 * 1024,
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

function checkUpgrade(request: Request, id: string, tags: readonly string[]): void {
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    throw new ApiError("upgrade_required", { headers: { upgrade: "websocket" } });
  }
  if (id === "" || id.length > MAX_TAG_LENGTH) {
    throw new ApiError("invalid_request", {
      message: `A connection id has 1 to ${MAX_TAG_LENGTH} characters`,
    });
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

const noAttachment: Attachment = { tags: [], value: undefined, maxMessage: undefined };

function writeAttachment(socket: WebSocket, attachment: Attachment): void {
  if ((JSON.stringify(attachment.value) ?? "").length > MAX_ATTACHMENT_LENGTH) {
    throw new ApiError("internal", {
      message: `An attachment has at most ${MAX_ATTACHMENT_LENGTH} characters as JSON`,
    });
  }
  socket.serializeAttachment({ ...attachment, tags: [...attachment.tags] } satisfies Attachment);
}
