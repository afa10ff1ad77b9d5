import { type Duplex, type DuplexEnd, MAX_DUPLEX_MESSAGE } from "../../../core/net/duplex.ts";
import type { RawSocket, SocketEvents } from "../http/connection.ts";

/** A socket of a runtime that may be able to stop its peer. */
export interface DuplexSocket extends RawSocket {
  pause?(): void;
  resume?(): void;
}

/** A duplex and the ends that its runtime holds. */
export interface LocalDuplex {
  readonly duplex: Duplex;
  readonly events: SocketEvents;
  /** To be called before any event comes. */
  attach(socket: DuplexSocket): void;
}

/** Bytes, received or unsent, above which the faster side is made to wait. */
const HIGH_WATER = 1024 * 1024;
/** Bytes that wait when the peer cannot be stopped. */
const LIMIT = 2 * MAX_DUPLEX_MESSAGE;
/** The weight of a waiting message beside its bytes: a flood of empty ones must not fill the memory. */
const MESSAGE_COST = 256;
/** How often a full socket is looked at, in ms. */
const POLL_MS = 5;
/** A peer that does not answer a close frame is dropped after this. */
const CLOSE_WAIT_MS = 5000;

type Message = string | Uint8Array;

interface State {
  phase: "open" | "closing" | "closed";
  socket: DuplexSocket | undefined;
  /** Received and not read. */
  readonly waiting: Message[];
  /** The weight of {@link State.waiting}. */
  weight: number;
  paused: boolean;
  /** The reader that waits for the next message. */
  reader: ((message: Message | null) => void) | undefined;
  ours: DuplexEnd | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Makes a duplex whose socket follows by `attach`; `protocolOf` is asked once it is open. */
export function localDuplex(protocolOf: () => string): LocalDuplex {
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<DuplexEnd>();
  const state: State = {
    phase: "open",
    socket: undefined,
    waiting: [],
    weight: 0,
    paused: false,
    reader: undefined,
    ours: undefined,
    timer: undefined,
  };
  const close = (code: number, reason: string): void => {
    if (state.phase !== "open") return;
    state.phase = "closing";
    state.ours = { code, reason };
    drop(state);
    state.timer = setTimeout(() => state.socket?.terminate(), CLOSE_WAIT_MS);
    void opened.promise.then(() => state.socket?.close(code, reason));
  };
  return {
    attach(socket) {
      state.socket = socket;
    },
    duplex: {
      get protocol() {
        return protocolOf();
      },
      closed: closed.promise,
      async send(message) {
        await opened.promise;
        if (state.phase !== "open") return false;
        state.socket?.send(message);
        await drained(state);
        return true;
      },
      receive: () => receive(state),
      close(code = 1000, reason = "") {
        close(code, reason);
      },
    },
    events: {
      open: opened.resolve,
      message(data) {
        received(state, data, close);
      },
      close(code, reason) {
        if (state.phase === "closed") return;
        const end = state.ours ?? { code, reason };
        state.phase = "closed";
        clearTimeout(state.timer);
        opened.resolve();
        if (state.waiting.length === 0) state.reader?.(null);
        // Whether the peer echoes our code, and what the runtime makes of it, differs.
        closed.resolve(end);
      },
    },
  };
}

async function drained(state: State): Promise<void> {
  while (state.phase === "open" && (state.socket?.buffered() ?? 0) > HIGH_WATER) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function receive(state: State): Promise<Message | null> {
  const next = state.waiting.shift();
  if (next === undefined && state.phase !== "open") return Promise.resolve(null);
  if (next === undefined) {
    return new Promise((resolve) => {
      state.reader = (message) => {
        state.reader = undefined;
        resolve(message);
      };
    });
  }
  state.weight -= weightOf(next);
  if (state.paused && state.weight < HIGH_WATER / 2) {
    state.paused = false;
    state.socket?.resume?.();
  }
  return Promise.resolve(next);
}

function received(
  state: State,
  data: Message,
  close: (code: number, reason: string) => void,
): void {
  if (state.phase !== "open") return;
  const weight = weightOf(data);
  if (weight > MAX_DUPLEX_MESSAGE + MESSAGE_COST) {
    close(1009, `Messages are limited to ${MAX_DUPLEX_MESSAGE} bytes`);
    return;
  }
  if (state.reader !== undefined) {
    state.reader(data);
    return;
  }
  if (state.weight + weight > LIMIT) {
    close(1013, "The other side reads too slowly");
    return;
  }
  state.waiting.push(data);
  state.weight += weight;
  if (state.weight < HIGH_WATER || state.paused || state.socket?.pause === undefined) return;
  state.paused = true;
  state.socket.pause();
}

/** Forgets what was received, and lets a stopped peer's close frame in. */
function drop(state: State): void {
  state.waiting.length = 0;
  state.weight = 0;
  state.reader?.(null);
  if (state.paused) state.socket?.resume?.();
  state.paused = false;
}

/** For text its length in UTF-16 units: a bound, not a bill. */
function weightOf(message: Message): number {
  return MESSAGE_COST + (typeof message === "string" ? message.length : message.byteLength);
}
