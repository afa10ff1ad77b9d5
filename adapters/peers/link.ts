import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers";
import { decodePlain, encodePlain } from "./plain-codec.ts";

/** Messages over a connection, in order. */
export interface Link<Out> {
  /** Sends at the end of the turn, together with what else is sent by then. Throws for what cannot cross. */
  readonly send: (message: Out) => void;
  /** Bytes that wait to be taken by the other side. */
  readonly unsent: () => number;
  /** Closes once everything is sent. */
  readonly end: () => void;
}

/** Both directions of a connection: one socket, or the bodies of a request and of its answer. */
export interface Ends {
  readonly from: Readable;
  readonly to: Writable;
}

export interface LinkEvents<In> {
  message(message: In): void;
  /** Called once. */
  close(): void;
}

/** Bytes of one message: what a call carries is bounded long before. */
const MAX_MESSAGE = 512 * 1024 * 1024;
const HEADER = 4;
/** Messages that are handled before others have their turn: Node reads up to 2 MiB of a connection before it looks at another one. */
const MOST_IN_TURN = 100;
/** Bytes of messages that wait for their turn, above which a connection is not read. */
const MAX_HELD = 256 * 1024;

/** Makes a link of a connection: a length in front of each message. */
export function link<In, Out>({ from, to }: Ends, events: LinkEvents<In>): Link<Out> {
  let waiting: Uint8Array[] = [];
  let isClosed = false;
  const flush = (): void => {
    const frames = waiting;
    waiting = [];
    if (frames.length > 0 && to.writable) to.write(Buffer.concat(frames));
  };
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    events.close();
  };
  const reading = readFrames(from, {
    message(bytes) {
      // `as`: both ends speak alike, which the owner has made sure of.
      events.message(decodePlain(bytes) as In);
    },
    fault() {
      from.destroy();
      to.destroy();
    },
  });
  // A server of HTTP leaves its direction open.
  from.on("end", () => reading.whenDone(() => to.end()));
  for (const end of new Set([from, to])) {
    // "close" follows.
    end.on("error", () => undefined);
    end.on("close", () => reading.whenDone(close));
  }
  return {
    send(message) {
      const frame = messageFrame(message);
      if (waiting.length === 0) setImmediate(flush);
      waiting.push(...frame);
    },
    unsent: () => to.writableLength,
    end() {
      flush();
      to.end();
    },
  };
}

/** Returns a message as it is sent: its length and its bytes. */
export function messageFrame(message: unknown): [header: Buffer, bytes: Buffer] {
  const bytes = encodePlain(message);
  if (bytes.length > MAX_MESSAGE) throw new RangeError("A message is too long");
  const header = Buffer.allocUnsafe(HEADER);
  header.writeUInt32LE(bytes.length);
  return [header, bytes];
}

/** Bytes of the first message of a stream, the head of a request or an answer. */
const MAX_HEAD = 1024 * 1024;

/**
 * Reads the first message of a stream; the rest of the stream is left to be read. Rejects when the stream ends before.
 */
export function readFirst(from: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const over = (): void => {
      from.off("data", take).off("end", ended).off("error", ended).off("close", ended);
      from.pause();
    };
    const ended = (): void => {
      over();
      reject(new TypeError("The connection ended before the head was complete"));
    };
    const take = (chunk: Buffer): void => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      if (held.length < HEADER) return;
      const end = HEADER + held.readUInt32LE(0);
      if (end > MAX_HEAD) {
        over();
        reject(new RangeError("The head is too long"));
      } else if (held.length >= end) {
        over();
        if (held.length > end) from.unshift(held.subarray(end));
        resolve(held.subarray(HEADER, end));
      }
    };
    // An error is followed by "close".
    from.on("data", take).on("end", ended).on("error", ended).on("close", ended);
  });
}

interface FrameEvents {
  message(bytes: Buffer): void;
  /** The stream is not one of messages, or one of them could not be handled: none follows. */
  fault(): void;
}

/** Reads the messages of a stream, and gives way to other connections after some. */
function readFrames(from: Readable, events: FrameEvents): { whenDone(then: () => void): void } {
  const frames = messageFrames();
  let isFaulty = false;
  /** Called when all that has come is handled; null while nothing waits for its turn. */
  let after: (() => void)[] | null = null;
  let inTurn = 0;
  const handle = (): void => {
    try {
      for (; inTurn < MOST_IN_TURN; inTurn += 1) {
        const bytes = isFaulty ? null : frames.next();
        if (bytes === null) return goOn();
        events.message(bytes);
      }
    } catch {
      isFaulty = true;
      events.fault();
      return goOn();
    }
    after ??= [];
    setImmediate(() => {
      inTurn = 0;
      handle();
    });
  };
  const goOn = (): void => {
    if (after === null) return;
    const calls = after;
    after = null;
    if (from.isPaused()) from.resume();
    for (const call of calls) call();
  };
  from.on("data", (chunk: Buffer) => {
    frames.add(chunk);
    if (after === null) handle();
    else if (frames.size() > MAX_HELD) from.pause();
  });
  return {
    whenDone(then) {
      if (after === null) then();
      else after.push(then);
    },
  };
}

/** Bytes of a stream, cut into messages. */
interface MessageFrames {
  add(chunk: Buffer): void;
  /** Bytes that are held. */
  size(): number;
  /** Returns the next message that is there as a whole. */
  next(): Buffer | null;
}

function messageFrames(): MessageFrames {
  let held: Buffer[] = [];
  let size = 0;
  /** Bytes that have to be there before anything can be done. */
  let needed = HEADER;
  return {
    add(chunk) {
      held.push(chunk);
      size += chunk.length;
    },
    size: () => size,
    next() {
      if (size < needed) return null;
      const [first] = held;
      const bytes = first?.length === size ? first : Buffer.concat(held);
      held = [bytes];
      const end = HEADER + bytes.readUInt32LE(0);
      if (end > MAX_MESSAGE) throw new RangeError("A message is too long");
      needed = end;
      if (size < end) return null;
      const rest = bytes.subarray(end);
      held = rest.length === 0 ? [] : [rest];
      size = rest.length;
      needed = HEADER;
      return bytes.subarray(HEADER, end);
    },
  };
}
