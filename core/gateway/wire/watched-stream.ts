import { endedOnPurpose } from "../../net/transport-error.ts";
import type { BreakOff, StreamEnd, StreamWatch, System } from "../../ports.ts";

/**
 * Milliseconds that a stream whose client left waits for its server to cancel it before it fails. Deno cancels a moment
 * after it reported that the client left, and prints the error of a body that failed before. The last bytes of a stream
 * have as long to leave: servers drop what waits when it fails.
 */
const GONE = 50;

export interface WatchedStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly breakOff: BreakOff;
}

/**
 * Passes a stream on, one chunk per pull, so that a slow reader slows the source. The forwarding loop itself watches,
 * because `tee` buffers without bound and a transform doubles the cost. A source that breaks breaks the copy: no clean
 * end is ever made up.
 */
export function watchedStream(
  source: ReadableStream<Uint8Array>,
  watch: StreamWatch,
  signal: AbortSignal,
  system: System,
): WatchedStream {
  const reader = source.getReader();
  let [ended, isBroken] = [false, false];
  let out: ReadableStreamDefaultController<Uint8Array> | null = null;
  const end = (how: StreamEnd): void => {
    if (ended) return;
    ended = true;
    signal.removeEventListener("abort", onAbort);
    watch.onEnd(how);
  };
  const onAbort = (): void => {
    end("aborted");
    // A server that drops its client may never read nor cancel the stream.
    reader.cancel(signal.reason).catch(() => undefined);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => void (out = controller),
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (isBroken) throw endedOnPurpose();
          if (done && signal.aborted) throw signal.reason;
          if (done) {
            end("complete");
            controller.close();
            return;
          }
          watch.onChunk(value);
          controller.enqueue(value);
        } catch (error) {
          end(signal.aborted ? "aborted" : "broken");
          if (signal.aborted || isBroken) await system.sleep(GONE);
          controller.error(error);
        }
      },
      async cancel(reason) {
        end("aborted");
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    breakOff(last) {
      if (ended) return;
      isBroken = true;
      end("broken");
      if (last !== null) out?.enqueue(last);
      reader.cancel(endedOnPurpose()).catch(() => undefined);
    },
  };
}
