import type { BodyMessage } from "./messages.ts";

/** Sends a body over a link; its methods take the messages of the other side. */
export interface BodySource {
  more(): void;
  /** The reader on the other side has left. */
  unread(): void;
  /**
   * Reads the rest of the body and drops it. Otherwise the client's connection would break before it reads the answer
   * that tells why.
   */
  drain(): void;
}

/** Receives a body over a link; its methods take the messages of the other side. */
export interface BodySink {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  chunk(bytes: Uint8Array): void;
  end(): void;
  broken(): void;
}

type Send = (message: BodyMessage) => void;

/** Bytes read of a body that is not needed. */
const MAX_DRAINED = 64 * 1024 * 1024;
/** Bytes of one message: other calls on the link wait while it is sent. */
const PIECE = 256 * 1024;

/** Sends a body piece by piece, each as the other side asks for it: a slow reader slows the writer. */
export function bodySource(id: number, body: ReadableStream<Uint8Array>, send: Send): BodySource {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let rest: Uint8Array | undefined;
  let turn = Promise.resolve();
  // Not before the body is asked for: a request that moves to the next lock owner takes its body along.
  const own = (): ReadableStreamDefaultReader<Uint8Array> => (reader ??= body.getReader());
  const read = async (): Promise<void> => {
    try {
      const chunk = rest ?? (await own().read()).value;
      rest = chunk !== undefined && chunk.length > PIECE ? chunk.subarray(PIECE) : undefined;
      if (chunk === undefined) send({ type: "end", id });
      else send({ type: "chunk", id, bytes: ownBytes(chunk.subarray(0, PIECE)) });
    } catch {
      send({ type: "broken", id });
    }
  };
  const drain = async (): Promise<void> => {
    let drained = 0;
    try {
      for (;;) {
        const { value } = await own().read();
        if (value === undefined || (drained += value.length) > MAX_DRAINED) return;
      }
    } catch {
      // The client has left.
    }
  };
  const leave = async (): Promise<void> => {
    try {
      await own().cancel();
    } catch {
      // Already broken, or locked by another reader.
    }
  };
  return {
    more() {
      turn = turn.then(read);
    },
    unread: () => void leave(),
    drain() {
      turn = turn.then(drain);
    },
  };
}

/** Returns the same bytes in a buffer of their own: JavaScriptCore's clone of a view is one of all that it looks at. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

/** Receives what {@link bodySource} sends; a body that breaks off errors. */
export function bodySink(id: number, send: Send): BodySink {
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  let isOver = false;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(given) {
        controller = given;
      },
      pull() {
        send({ type: "more", id });
      },
      cancel() {
        isOver = true;
        send({ type: "unread", id });
      },
    },
    { highWaterMark: 0 },
  );
  const finish = (how: () => void): void => {
    if (isOver) return;
    isOver = true;
    how();
  };
  return {
    stream,
    chunk(bytes) {
      if (!isOver) controller.enqueue(new Uint8Array(bytes));
    },
    end() {
      finish(() => {
        controller.close();
      });
    },
    broken() {
      finish(() => {
        controller.error(new TypeError("The process at the other end is gone"));
      });
    },
  };
}
