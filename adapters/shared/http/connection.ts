import { ApiError } from "../../../core/http/api-error.ts";
import type { AcceptOptions, Connection, Plain } from "../../../core/ports.ts";
import { unsentFrames, type UnsentFrames } from "./unsent-frames.ts";

/** One WebSocket of a runtime, opened or about to open. */
export interface RawSocket {
  /** Bytes handed over and not yet sent to the network. */
  buffered(): number;
  send(message: string | Uint8Array): void;
  close(code: number, reason: string): void;
  /** Drops the connection without a handshake. */
  terminate(): void;
}

export interface SocketEvents {
  open(): void;
  message(data: string | Uint8Array): void;
  close(code: number, reason: string): void;
}

/** Whom a connection tells. */
export interface ConnectionOwner {
  /** Settles when the message is handled. */
  message(from: LocalConnection, data: string | Uint8Array): Promise<void>;
  /** No longer to be listed or sent to. */
  gone(connection: LocalConnection): void;
  closed(connection: LocalConnection, code: number, reason: string): void;
}

/** A connection and the ends that its runtime holds. */
export interface LocalConnection extends Connection {
  readonly events: SocketEvents;
  attach(socket: RawSocket): void;
}

export interface ConnectionLimits {
  /** Unsent bytes. */
  readonly maxBuffered: number;
  /** Unsent frames, once the oldest of them has waited for {@link ConnectionLimits.framesWaitMs}. */
  readonly maxFrames: number;
  readonly framesWaitMs: number;
  /** Bytes of one received message. */
  readonly maxMessage: number;
}

/** A peer that does not answer a close frame is dropped after this. */
const CLOSE_WAIT_MS = 5000;
const MAX_ATTACHMENT = 2048;
/** The weight of a waiting message beside its bytes: a flood of empty ones must not fill the actor's mailbox. */
const MESSAGE_COST = 1024;

/** The weight of an unsent frame beside its bytes, for the same reason. */
const FRAME_COST = 256;

interface State {
  phase: "opening" | "open" | "closing" | "closed";
  socket: RawSocket | undefined;
  readonly unsent: UnsentFrames;
  /** Messages that were sent before the socket was open. */
  early: (string | Uint8Array)[];
  /** Bytes received and not yet handled, {@link MESSAGE_COST} included. */
  waiting: number;
  /** How this side closed it. */
  ours: readonly [code: number, reason: string] | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Makes a connection whose socket follows by `attach`. */
export function localConnection(
  id: string,
  accepting: AcceptOptions,
  limits: ConnectionLimits,
  owner: ConnectionOwner,
): LocalConnection {
  const tags = checkTags(accepting.tags ?? []);
  let attachment = checkAttachment(accepting.attachment);
  const state = newState();
  const connection: LocalConnection = {
    id,
    tags,
    get attachment() {
      return attachment;
    },
    set attachment(value: Plain) {
      attachment = checkAttachment(value);
    },
    get buffered() {
      return bufferedBy(state);
    },
    get queued() {
      return queuedBy(state, bufferedBy(state));
    },
    send: (message) => send(state, connection, message, limits),
    close(code = 1000, reason = "") {
      if (state.phase === "closing" || state.phase === "closed") return;
      state.ours = [code, reason];
      if (state.phase === "open") state.socket?.close(code, reason);
      state.phase = "closing";
      state.timer = setTimeout(() => state.socket?.terminate(), CLOSE_WAIT_MS);
      owner.gone(connection);
    },
    attach(socket) {
      state.socket = socket;
    },
    events: {
      open: () => {
        opened(state);
      },
      message: (data) => {
        received(state, connection, { data, maxMessage: limits.maxMessage, owner });
      },
      close(code, reason) {
        if (state.phase === "closed") return;
        state.phase = "closed";
        clearTimeout(state.timer);
        owner.gone(connection);
        // Whether the peer echoes our code, and what the runtime makes of it, differs.
        owner.closed(connection, ...(state.ours ?? [code, reason]));
      },
    },
  };
  return connection;
}

function newState(): State {
  return {
    phase: "opening",
    socket: undefined,
    unsent: unsentFrames(),
    early: [],
    waiting: 0,
    ours: undefined,
    timer: undefined,
  };
}

function send(
  state: State,
  connection: LocalConnection,
  message: string | Uint8Array,
  limits: ConnectionLimits,
): boolean {
  const { phase, socket, unsent } = state;
  if (phase === "closing" || phase === "closed") return false;
  const buffered = bufferedBy(state);
  if (buffered > 0 && isTooSlow(state, buffered, sizeOf(message), limits)) {
    connection.close(1013, "Too slow: come back and resume");
    return false;
  }
  if (phase === "opening") state.early.push(message);
  else if (socket !== undefined) {
    socket.send(message);
    unsent.handed(buffered, socket.buffered());
  }
  return true;
}

/** Asked when something waits already: one message larger than the budget may pass when nothing does. */
function isTooSlow(
  state: State,
  buffered: number,
  size: number,
  limits: ConnectionLimits,
): boolean {
  const queued = queuedBy(state, buffered);
  if (buffered + size + queued * FRAME_COST > limits.maxBuffered) return true;
  return queued >= limits.maxFrames && state.unsent.waitedMs() >= limits.framesWaitMs;
}

function opened(state: State): void {
  for (const message of state.early) state.socket?.send(message);
  state.early = [];
  if (state.ours !== undefined) state.socket?.close(...state.ours);
  if (state.phase === "opening") state.phase = "open";
}

interface Received {
  readonly data: string | Uint8Array;
  readonly maxMessage: number;
  readonly owner: ConnectionOwner;
}

function received(
  state: State,
  connection: LocalConnection,
  { data, maxMessage, owner }: Received,
): void {
  if (state.phase !== "open") return;
  // For browsers, which cannot send ping frames; answered without waking the actor, as Workers does.
  if (data === "ping") {
    connection.send("pong");
    return;
  }
  const size = sizeOf(data);
  if (size > maxMessage) {
    connection.close(1009, `Messages are limited to ${maxMessage} bytes`);
    return;
  }
  const cost = size + MESSAGE_COST;
  state.waiting += cost;
  if (state.waiting > 4 * maxMessage) {
    connection.close(1013, "Too many messages wait to be handled");
    return;
  }
  void owner.message(connection, data).finally(() => {
    state.waiting -= cost;
  });
}

function queuedBy({ early, unsent }: State, buffered: number): number {
  return early.length + unsent.count(buffered);
}

function bufferedBy({ early, socket }: State): number {
  let bytes = socket?.buffered() ?? 0;
  for (const message of early) bytes += sizeOf(message);
  return bytes;
}

/** For text its length in UTF-16 units: a bound, not a bill. */
function sizeOf(message: string | Uint8Array): number {
  return typeof message === "string" ? message.length : message.byteLength;
}

function checkTags(tags: readonly string[]): readonly string[] {
  if (tags.length <= 9 && tags.every((tag) => tag.length <= 256)) return tags;
  const message = "A connection has at most 9 tags of at most 256 characters";
  throw new ApiError("internal", { message });
}

function checkAttachment(value: Plain): Plain {
  if (value === undefined || JSON.stringify(value).length <= MAX_ATTACHMENT) return value;
  const message = `An attachment has at most ${MAX_ATTACHMENT} characters as JSON`;
  throw new ApiError("internal", { message });
}
