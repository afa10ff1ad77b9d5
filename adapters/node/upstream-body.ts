import type { StreamEnd, StreamWatch } from "../../core/ports.ts";
import { TransportError } from "../../core/transport-error.ts";

/** Bytes that wait for the reader before the upstream is paused. */
const WAITING_BYTES = 64 * 1024;

/** What an upstream body does to its connection. */
export interface UpstreamControl {
  pause(): void;
  resume(): void;
  abort(error: Error): void;
}

/** Takes a body's bytes without the costs of a web stream, see {@link pipeUpstream}. */
export interface DirectSink {
  /** Returns whether more may come at once; else `resume` is called on the body later. */
  write(chunk: Uint8Array): boolean;
  end(): void;
  fail(): void;
}

/** The body of an answer as it comes from the network. */
export interface UpstreamBody {
  readonly stream: ReadableStream<Uint8Array>;
  data(chunk: Uint8Array<ArrayBuffer>): void;
  end(): void;
  fail(error: TransportError): void;
  /** Shows the bytes to `watch` as they are handed on. */
  watch(watch: StreamWatch): void;
  /** Hands all bytes to a sink from now on. */
  pipe(to: DirectSink): void;
  /** The sink can take more. */
  resume(): void;
  /** The sink is gone. */
  cancel(): void;
}

const bodyKey = Symbol("causey.upstream-body");

/** The upstream body behind a stream that nobody reads yet; undefined for any other stream. */
export function upstreamBodyOf(stream: ReadableStream<Uint8Array>): UpstreamBody | undefined {
  const found: unknown = Reflect.get(stream, bodyKey);
  // `as`: only upstreamBody() writes this property.
  return found === undefined || stream.locked ? undefined : (found as UpstreamBody);
}

/**
 * A body with one consumer: a web stream that asks chunk by chunk, or a sink that is written to from the
 * network's callback, at a third of the cost. Watching costs no stream of its own either.
 */
export function upstreamBody(control: UpstreamControl): UpstreamBody {
  const waiting: Uint8Array[] = [];
  let bytes = 0;
  let hungry = false;
  let ended = false;
  let outcome: StreamEnd | undefined;
  let watcher: StreamWatch | undefined;
  let sink: DirectSink | undefined;
  let out: ReadableStreamDefaultController<Uint8Array> | undefined;

  const finish = (how: StreamEnd): void => {
    outcome = how;
    watcher?.onEnd(how);
  };
  const next = (): Uint8Array | undefined => {
    const chunk = waiting.shift();
    if (chunk === undefined) return undefined;
    bytes -= chunk.byteLength;
    if (bytes < WAITING_BYTES) control.resume();
    watcher?.onChunk(chunk);
    return chunk;
  };
  const close = (): void => {
    finish("complete");
    if (sink === undefined) out?.close();
    else sink.end();
  };
  const cancel = (): void => {
    if (outcome !== undefined) return;
    finish("aborted");
    control.abort(new TransportError("aborted", "The reader of the answer went away"));
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        out = controller;
      },
      pull(controller) {
        const chunk = next();
        if (chunk !== undefined) controller.enqueue(chunk);
        else hungry = true;
        if (ended && outcome === undefined && waiting.length === 0) close();
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
  const body: UpstreamBody = {
    stream,
    data(chunk) {
      if (outcome !== undefined) return;
      if (sink !== undefined) {
        watcher?.onChunk(chunk);
        if (!sink.write(chunk)) control.pause();
      } else if (hungry) {
        hungry = false;
        watcher?.onChunk(chunk);
        out?.enqueue(chunk);
      } else {
        waiting.push(chunk);
        bytes += chunk.byteLength;
        if (bytes >= WAITING_BYTES) control.pause();
      }
    },
    end() {
      ended = true;
      if (outcome === undefined && waiting.length === 0) close();
    },
    fail(error) {
      if (outcome !== undefined) return;
      finish(error.reason === "aborted" ? "aborted" : "broken");
      if (sink === undefined) out?.error(error);
      else sink.fail();
    },
    watch(watch) {
      watcher = watch;
      // It broke off before anybody looked.
      if (outcome !== undefined) watch.onEnd(outcome);
    },
    pipe(to) {
      sink = to;
      for (let chunk = next(); chunk !== undefined; chunk = next()) {
        if (!to.write(chunk)) control.pause();
      }
      if (outcome === "broken" || outcome === "aborted") to.fail();
      else if (ended && outcome === undefined) close();
    },
    resume: () => {
      control.resume();
    },
    cancel,
  };
  Reflect.set(stream, bodyKey, body);
  return body;
}
