import type { Socket } from "node:net";
import { setImmediate } from "node:timers";
import { deserialize, serialize } from "node:v8";
import { VERSION } from "../../core/version.ts";

/** Messages over a local connection, in order. */
export interface Link<Out> {
  /** Sends at the end of the turn, together with what else is sent by then. Throws for what cannot be cloned. */
  readonly send: (message: Out) => void;
  /** As `send`, in a form that every runtime and version reads: for messages of texts and numbers. */
  readonly greet: (message: Out) => void;
  /** Bytes that wait to be taken by the other side. */
  readonly unsent: () => number;
  /** Closes once everything is sent. */
  readonly end: () => void;
}

/** Events of a link. */
export interface LinkEvents<In> {
  message(message: In): void;
  /** Called once. */
  close(): void;
}

/** The engine's clone format: both ends must have the same. */
const cloneForm: string = serialize(null).toString("hex");

/** Returns what the processes of a data directory must have in common, for a process of that runtime. */
export function protocolOf(runtime: string): string {
  return `${runtime}, causey ${VERSION}, ${cloneForm}`;
}

/** Bytes of one message: what a call carries is bounded long before. */
const MAX_MESSAGE = 512 * 1024 * 1024;
const HEADER = 4;
/** With which a message in JSON begins, and a clone does not: V8's begin with 0xff, JavaScriptCore's with a small number. */
const BRACE = 0x7b;

/**
 * Makes a link of a connection between two processes of one runtime and one user: a length in front of each message, in
 * the form of the engine's structured clone, which keeps bytes and `undefined` as they are.
 */
export function link<In, Out>(socket: Socket, events: LinkEvents<In>): Link<Out> {
  let waiting: Uint8Array[] = [];
  const flush = (): void => {
    const frames = waiting;
    waiting = [];
    if (frames.length > 0 && socket.writable) socket.write(Buffer.concat(frames));
  };
  const put = (bytes: Uint8Array): void => {
    if (bytes.length > MAX_MESSAGE) throw new RangeError("A message is too long");
    const header = Buffer.allocUnsafe(HEADER);
    header.writeUInt32LE(bytes.length);
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(header, bytes);
  };
  const read = reader((bytes) => {
    // `as`: both ends run the same version, which the greeting makes sure of.
    events.message((bytes[0] === BRACE ? JSON.parse(String(bytes)) : deserialize(bytes)) as In);
  });
  socket.on("data", (chunk: Buffer) => {
    try {
      read(chunk);
    } catch {
      socket.destroy();
    }
  });
  // "close" follows.
  socket.on("error", () => undefined);
  socket.on("close", () => {
    events.close();
  });
  return {
    send(message) {
      put(serialize(message));
    },
    greet(message) {
      put(Buffer.from(JSON.stringify(message)));
    },
    unsent: () => socket.writableLength,
    end() {
      flush();
      socket.end();
    },
  };
}

/** Cuts a stream of bytes into messages. */
function reader(onMessage: (bytes: Buffer) => void): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  let size = 0;
  /** Bytes that have to be there before anything can be done. */
  let needed = HEADER;
  return (chunk) => {
    held.push(chunk);
    size += chunk.length;
    if (size < needed) return;
    const bytes = held.length === 1 ? chunk : Buffer.concat(held);
    let at = 0;
    needed = HEADER;
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + bytes.readUInt32LE(at);
      if (end - at > MAX_MESSAGE) throw new RangeError("A message is too long");
      if (end > bytes.length) {
        needed = end - at;
        break;
      }
      onMessage(bytes.subarray(at + HEADER, end));
      at = end;
    }
    const rest = bytes.subarray(at);
    held = rest.length === 0 ? [] : [rest];
    size = rest.length;
  };
}
