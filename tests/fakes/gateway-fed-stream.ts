import type { InboundResponse, OutboundRequest } from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";
import { bytes } from "./gateway-transport.ts";

/** A stream that a test feeds. */
export interface FedStream {
  readonly body: ReadableStream<Uint8Array>;
  /** How many chunks were asked for. */
  readonly pulls: number;
  /** Resolves when the reader has ended the stream. */
  readonly ended: Promise<void>;
  /** Whether it has. */
  readonly isEnded: boolean;
  send(...chunks: readonly (string | Uint8Array)[]): void;
  close(): void;
  fail(): void;
  /** The stream as a provider's answer to a request, which can abort it. */
  answer(request: OutboundRequest, type?: string): InboundResponse;
}

/** A stream that asks for a chunk when its reader does. */
export function fedStream(): FedStream {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  let pulls = 0;
  let isEnded = false;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const end = (): void => {
    isEnded = true;
    resolve();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        control = controller;
      },
      pull() {
        pulls++;
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    get pulls() {
      return pulls;
    },
    ended,
    get isEnded() {
      return isEnded;
    },
    send(...chunks) {
      for (const chunk of chunks) {
        control?.enqueue(typeof chunk === "string" ? bytes(chunk) : chunk);
      }
    },
    close: () => control?.close(),
    fail: () => control?.error(new TransportError("broken", "cut off")),
    answer({ signal }, type = "text/event-stream") {
      signal?.addEventListener("abort", () => {
        if (isEnded) return;
        end();
        control?.error(new TransportError("aborted", "aborted"));
      });
      return { status: 200, headers: [["content-type", type]], body };
    },
  };
}
