import { attached } from "../../../core/http/attached.ts";
import { endedOnPurpose, type TransportError } from "../../../core/net/transport-error.ts";
import type { BreakOff, StreamEnd, StreamWatch } from "../../../core/ports.ts";
import {
  failSoon,
  SilentAnswer,
  type SilenceLimit,
  type SilenceWatch,
  watchSilence,
} from "./answer-silence.ts";
import { toTransportError } from "./to-transport-error.ts";

const watches = attached<Watch>("guarded-body");

type Watch = (watch: StreamWatch) => BreakOff;

/**
 * Returns the bytes of a `fetch` body, one chunk per pull, so that a slow reader slows the upstream; a body that breaks
 * off, falls silent, or that the caller's signal ends, ends in `TransportError`. {@link watchGuarded} has them watched on
 * their way, because a second stream around this one costs as much again.
 */
export function guardedBody(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  limit: SilenceLimit,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let watcher: StreamWatch | undefined;
  let outcome: StreamEnd | undefined;
  const silence = boundSilence(limit, reader, () => end("broken"));
  const end = (how: StreamEnd): void => {
    if (outcome !== undefined) return;
    outcome = how;
    silence.watch.over();
    signal?.removeEventListener("abort", onAbort);
    watcher?.onEnd(how);
  };
  const onAbort = (): void => {
    end("aborted");
    // A server that drops its client may never read nor cancel the stream.
    reader.cancel(signal?.reason).catch(() => undefined);
  };
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      if (silence.failure !== null) return failSoon(controller, silence.failure);
      silence.out = controller;
      silence.watch.wait();
      try {
        const { done, value } = await reader.read();
        silence.watch.came();
        // The reader already got its error.
        if (silence.failure !== null) return;
        // Cancelled by the signal, which no reader may take for the end.
        if (done) signal?.throwIfAborted();
        if (done) {
          end("complete");
          controller.close();
          return;
        }
        watcher?.onChunk(value);
        controller.enqueue(value);
      } catch (error) {
        if (silence.failure !== null) return;
        end(signal?.aborted === true ? "aborted" : "broken");
        controller.error(toTransportError(error, signal, "broken"));
      }
    },
    async cancel(reason) {
      end("aborted");
      await reader.cancel(reason);
    },
  };
  const stream = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
  const watch: Watch = (given) => {
    watcher = given;
    if (outcome !== undefined) given.onEnd(outcome);
    else if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
    return (last) => outcome ?? silence.fail(endedOnPurpose(), last);
  };
  watches.set(stream, watch);
  return stream;
}

/** The silence limit of one body. */
interface BoundSilence {
  readonly watch: SilenceWatch;
  /** The reader that waits for bytes. */
  out: ReadableStreamDefaultController<Uint8Array> | null;
  failure: TransportError | null;
  /** Ends the body with an error, behind the last bytes for a reader that waits. */
  fail(error: TransportError, last: Uint8Array<ArrayBuffer> | null): void;
}

function boundSilence(
  limit: SilenceLimit,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  onEnd: () => void,
): BoundSilence {
  const state: BoundSilence = {
    watch: watchSilence(limit.ms, () => state.fail(new SilentAnswer(), limit.last())),
    out: null,
    failure: null,
    fail(failure, last) {
      state.failure = failure;
      onEnd();
      // The waiting reader gets these bytes first, and the error when it asks for more.
      if (last !== null && last.length > 0) state.out?.enqueue(last);
      else state.out?.error(failure);
      reader.cancel(failure).catch(() => undefined);
    },
  };
  return state;
}

/** Shows the bytes of a guarded body that is not read yet to `watch`; null for any other stream. */
export function watchGuarded(
  stream: ReadableStream<Uint8Array>,
  watch: StreamWatch,
): BreakOff | null {
  return stream.locked ? null : (watches.get(stream)?.(watch) ?? null);
}
