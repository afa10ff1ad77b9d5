import type { BodyMessage } from "./messages.ts";

/** A body on its way over a link; to be told what the other side says of it. */
export interface BodySource {
  more(): void;
  /** The reader on the other side has left. */
  unread(): void;
}

/** A body that comes over a link; to be told what the other side says of it. */
export interface BodySink {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  chunk(bytes: Uint8Array): void;
  end(): void;
  broken(): void;
}

type Send = (message: BodyMessage) => void;

/** Sends a body chunk by chunk, each as the other side asks for it: a slow reader slows the writer. */
export function bodySource(id: number, body: ReadableStream<Uint8Array>, send: Send): BodySource {
  const reader = body.getReader();
  const read = async (): Promise<void> => {
    try {
      const { done, value } = await reader.read();
      send(done ? { type: "end", id } : { type: "chunk", id, bytes: value });
    } catch {
      send({ type: "broken", id });
    }
  };
  return {
    more: () => void read(),
    unread: () => void reader.cancel().catch(() => undefined),
  };
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
