import type { ActorContext, Connection, Plain } from "../../ports.ts";
import { grantOf } from "../protocol/grant.ts";
import { stateFrame } from "../protocol/protocol.ts";
import { AHEAD_FRAMES } from "../protocol/has-room.ts";
import { pauseOrClosing } from "../../time/pause-or-closing.ts";

/** State frames of this many ms become one: the newest state wins. */
const COALESCE_MS = 16;
/** Unsent bytes above which (or as many frames as a replay leaves unsent) a client gets no further state until it has read. */
const BEHIND_BYTES = 256 * 1024;
/** Interval at which a slow client is checked, in ms. */
const CATCH_UP_MS = 100;
/** A client that has not read for this long is closed with 1013, in ms. */
const STALLED_MS = 30_000;

/** The state frames to the clients of an instance. */
export interface StateFrames {
  /** The state has changed; the connection `origin` knows it already. */
  readonly announce: (origin: string | undefined) => void;
  /** Sends a pending frame. */
  readonly flush: () => void;
}

/**
 * Sends new states to the clients. A client that reads slowly misses states in between, never the newest, and does not
 * delay the others: all that is kept for it is its place in a list.
 */
export function startStateFrames(context: ActorContext, current: () => Plain): StateFrames {
  const { sockets, system } = context;
  // By id: since when the client is behind, in monotonic ms.
  const behind = new Map<string, number>();
  let waiting = false;
  let origin: string | undefined;
  let chasing = false;

  function offer(connection: Connection, frame: string): void {
    if (!isBehind(connection)) {
      behind.delete(connection.id);
      connection.send(frame);
    } else if (!behind.has(connection.id)) behind.set(connection.id, system.monotonic());
  }
  async function chase(): Promise<void> {
    while (behind.size > 0 && system.closing?.aborted !== true) {
      await pauseOrClosing(CATCH_UP_MS, system);
      const frame = stateFrame(current());
      const open = new Map(sockets.connections().map((one) => [one.id, one]));
      for (const [id, since] of behind) {
        const connection = open.get(id);
        if (connection === undefined) behind.delete(id);
        else if (system.monotonic() - since > STALLED_MS && isBehind(connection)) {
          behind.delete(id);
          connection.close(1013, "Too slow: come back and resume");
        } else offer(connection, frame);
      }
    }
    chasing = false;
  }
  function flush(): void {
    if (!waiting) return;
    waiting = false;
    const others = sockets.connections().filter((one) => one.id !== origin && !grantOf(one).silent);
    if (others.length === 0) return;
    const frame = stateFrame(current());
    for (const connection of others) offer(connection, frame);
    if (behind.size === 0 || chasing) return;
    chasing = true;
    system.waitUntil(chase());
  }

  return {
    flush,
    announce(from) {
      // Only the connection that set the newest state knows it already.
      origin = from;
      // A client that connects later gets the state in its greeting.
      if (waiting || sockets.connections().length === 0) return;
      waiting = true;
      system.waitUntil(system.sleep(COALESCE_MS).then(flush, () => undefined));
    },
  };
}

function isBehind({ buffered, queued }: Connection): boolean {
  return buffered > BEHIND_BYTES || queued > AHEAD_FRAMES;
}
