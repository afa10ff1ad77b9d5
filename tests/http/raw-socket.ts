import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

/** A WebSocket client of one's own, because it must be able to stop reading. */
export interface RawSocket {
  /** Reads until the connection is over. */
  drain(): Promise<Drained>;
  /** Resolves when all of it has left, or the connection is over. */
  send(bytes: Uint8Array): Promise<void>;
  destroy(): void;
}

/** What came while nobody read. */
export interface Drained {
  /** Of all whole text frames. */
  readonly texts: readonly string[];
  /** Of the close frame, if there was one. */
  readonly code: number | null;
}

/** Connects and upgrades; reads nothing until {@link RawSocket.drain}. */
export async function rawSocket(url: URL): Promise<RawSocket> {
  const chunks: Buffer[] = [];
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => undefined);
  socket.write(
    `GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: Upgrade\r\n` +
      `upgrade: websocket\r\nsec-websocket-version: 13\r\n` +
      `sec-websocket-key: ${randomBytes(16).toString("base64")}\r\n\r\n`,
  );
  await new Promise<void>((resolve, reject) => {
    socket.once("data", (first: Buffer) => {
      socket.pause();
      const head = first.indexOf("\r\n\r\n");
      if (!first.toString("latin1").startsWith("HTTP/1.1 101")) reject(new Error("No upgrade"));
      chunks.push(first.subarray(head + 4));
      resolve();
    });
    socket.once("close", () => {
      reject(new Error("Closed before the upgrade"));
    });
  });
  return {
    drain: () => drain(socket, Buffer.concat(chunks)),
    send: (bytes) =>
      new Promise((resolve) => {
        socket.once("close", () => resolve());
        socket.write(bytes, () => resolve());
      }),
    destroy: () => {
      socket.destroy();
    },
  };
}

function drain(socket: Socket, first: Buffer): Promise<Drained> {
  const texts: string[] = [];
  let pending = first;
  let code: number | null = null;
  const decode = (): void => {
    for (let frame = frameOf(pending); frame !== null; frame = frameOf(pending)) {
      if (frame.opcode === 1) texts.push(frame.payload.toString("utf8"));
      if (frame.opcode === 8) {
        code = frame.payload.readUInt16BE(0);
        // Who hears that it is over hangs up, as RFC 6455 (section 5.5.1) wants an answer before the end.
        socket.destroy();
      }
      pending = pending.subarray(frame.size);
    }
  };
  return new Promise((resolve) => {
    const over = (): void => {
      resolve({ texts, code });
    };
    decode();
    if (socket.closed || code !== null) {
      over();
      return;
    }
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      decode();
    });
    socket.once("end", () => {
      socket.destroy();
    });
    socket.once("close", over);
    socket.resume();
  });
}

/** The first whole frame of a server (RFC 6455, section 5.2: never masked), or null. */
function frameOf(bytes: Buffer): { opcode: number; payload: Buffer; size: number } | null {
  if (bytes.length < 2) return null;
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0);
  if (bytes.length < start) return null;
  let length = short;
  if (short === 126) length = bytes.readUInt16BE(2);
  if (short === 127) length = Number(bytes.readBigUInt64BE(2));
  const size = start + length;
  if (bytes.length < size) return null;
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload: bytes.subarray(start, size), size };
}
