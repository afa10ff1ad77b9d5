import type { Socket } from "node:net";

/** The start of an HTTP/1.1 message: its first line, its header lines, and the bytes that came after them. */
export interface Head {
  readonly first: string;
  readonly lines: readonly string[];
  readonly rest: Uint8Array;
}

/** Bytes that the head of a message may have. */
const HEAD_LIMIT = 64 * 1024;

/**
 * Reads one message head from `before` and then a socket, which is left paused; null when the peer ends, is
 * late or sends too much.
 */
export function readHead(
  socket: Socket,
  timeoutMs: number,
  before: Uint8Array = new Uint8Array(0),
): Promise<Head | null> {
  let seen: Buffer = Buffer.from(before);
  const early = seen.indexOf("\r\n\r\n");
  if (early >= 0) return Promise.resolve(parseHead(seen, early));
  return new Promise((resolve) => {
    const done = (head: Head | null): void => {
      clearTimeout(timer);
      socket.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onEnd);
      socket.pause();
      resolve(head);
    };
    const onEnd = (): void => done(null);
    const onData = (chunk: Buffer): void => {
      // Search again from just before the seam: the blank line may be split between chunks.
      const from = Math.max(0, seen.length - 3);
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf("\r\n\r\n", from);
      if (end >= 0) done(parseHead(seen, end));
      else if (seen.length > HEAD_LIMIT) done(null);
    };
    const timer = setTimeout(onEnd, timeoutMs);
    socket.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", onEnd);
    socket.resume();
  });
}

function parseHead(bytes: Buffer, end: number): Head {
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  return { first, lines, rest: bytes.subarray(end + 4) };
}

/** The bytes of a head with some header lines dropped and one connection per message asked for. */
export function writeHead(
  first: string,
  lines: readonly string[],
  dropped: readonly string[],
): Buffer {
  const kept = lines.filter((line) => {
    const name = line.slice(0, Math.max(0, line.indexOf(":"))).toLowerCase();
    return !dropped.includes(name);
  });
  return Buffer.from([first, ...kept, "Connection: close", "", ""].join("\r\n"), "latin1");
}
