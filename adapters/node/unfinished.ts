import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { defaultBodyBytes } from "../shared/work/memory-limit.ts";

/** Bytes of all unfinished messages, where there is memory for as much. */
const MOST = 256 * 1024 * 1024;
/** Bytes from which an unfinished message counts: almost all messages come in one piece, and cost nothing here. */
const COUNTED = 64 * 1024;

/** Bytes of a client's ping or pong beside its data. */
const CONTROL_FRAME = 6;

interface Unfinished {
  bytes: number;
  readonly socket: Pick<WebSocket, "close" | "terminate">;
}

/** Messages of which only a part has come, the oldest first. */
export interface UnfinishedMessages {
  /** Counts the messages of a connection; `wire` is what it reads from. */
  follow(
    socket: Pick<WebSocket, "on" | "close" | "terminate">,
    wire: Pick<Duplex, "prependListener">,
  ): void;
}

/**
 * Bounds the memory of messages that have not come whole, in all connections of a process together. When it is full, the
 * connection whose message began first is closed with 1013: that of a client which sends the rest ends soon.
 */
export function unfinishedMessages(
  capacity: number = Math.min(MOST, defaultBodyBytes()),
): UnfinishedMessages {
  const counted = new Set<Unfinished>();
  let total = 0;
  const add = (one: Unfinished, bytes: number): void => {
    one.bytes += bytes;
    if (counted.has(one)) total += bytes;
    else if (one.bytes > COUNTED) {
      counted.add(one);
      total += one.bytes;
    }
  };
  const forget = (one: Unfinished): void => {
    if (counted.delete(one)) total -= one.bytes;
    one.bytes = 0;
  };
  return {
    follow(socket, wire) {
      const one: Unfinished = { bytes: 0, socket };
      // Before the reader, which may find the message's end in the same bytes.
      wire.prependListener("data", (chunk: Uint8Array) => {
        add(one, chunk.length);
        for (const oldest of counted) {
          if (total <= capacity) break;
          forget(oldest);
          oldest.socket.close(1013, "Too many messages have not come whole");
          oldest.socket.terminate();
        }
      });
      const done = (): void => {
        forget(one);
      };
      // Their frames are no part of the message around them.
      const control = (data: Uint8Array): void => {
        add(one, -Math.min(one.bytes, CONTROL_FRAME + data.length));
      };
      socket.on("message", done).on("close", done).on("ping", control).on("pong", control);
    },
  };
}
