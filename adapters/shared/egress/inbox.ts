import type { Socket } from "node:net";

/** The bytes of a socket at its reader's pace; its end is noticed in between too. */
export interface Inbox {
  readonly socket: Socket;
  /** Bytes have arrived that are not read yet. */
  readonly isAhead: boolean;
  /** The peer sends no more, and everything is read. */
  readonly isOver: boolean;
  /** Returns the next bytes; null at the end, or after `timeoutMs`. */
  next(timeoutMs?: number): Promise<Buffer | null>;
  /** Puts bytes back that were not for this reader. */
  putBack(bytes: Uint8Array): void;
  /** Gives the socket up, paused, and returns what has not been read. */
  release(): Buffer;
}

/** Bytes that are taken from a socket before they are needed. */
const AHEAD = 64 * 1024;

export function inboxOf(socket: Socket): Inbox {
  const queue: Buffer[] = [];
  let size = 0;
  let hasEnded = socket.destroyed;
  let wake: () => void = () => undefined;
  const onData = (bytes: Buffer): void => {
    queue.push(bytes);
    size += bytes.length;
    if (size >= AHEAD) socket.pause();
    wake();
  };
  const onEnd = (): void => {
    hasEnded = true;
    wake();
  };
  socket.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", onEnd);
  const take = (): Buffer | null => {
    const bytes = queue.shift() ?? null;
    size -= bytes?.length ?? 0;
    if (size < AHEAD && socket.isPaused()) socket.resume();
    return bytes;
  };
  return {
    socket,
    get isAhead() {
      return size > 0;
    },
    get isOver() {
      return hasEnded && size === 0;
    },
    next(timeoutMs) {
      if (size > 0 || hasEnded) return Promise.resolve(take());
      return new Promise((resolve) => {
        const timer = timeoutMs === undefined ? undefined : setTimeout(() => wake(), timeoutMs);
        wake = () => {
          clearTimeout(timer);
          wake = () => undefined;
          resolve(take());
        };
      });
    },
    putBack(bytes) {
      if (bytes.length === 0) return;
      queue.unshift(Buffer.from(bytes));
      size += bytes.length;
    },
    release() {
      socket.pause();
      socket.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onEnd);
      return Buffer.concat(queue.splice(0));
    },
  };
}
