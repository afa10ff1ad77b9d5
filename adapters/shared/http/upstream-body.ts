import { attached } from "../../../core/http/attached.ts";
import { joinBytes } from "../../../core/http/stream.ts";
import { setTimeout } from "node:timers";
import type { BreakOff, StreamChange, StreamEnd, StreamWatch } from "../../../core/ports.ts";
import { endedOnPurpose, TransportError } from "../../../core/net/transport-error.ts";
import { failSoon, LAST_BYTES_MS, SilentAnswer } from "./answer-silence.ts";

/** Bytes that wait for the reader before the upstream is paused. */
const WAITING_BYTES = 64 * 1024;

/** Controls of the connection beneath an upstream body. */
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
  watch(watch: StreamWatch): BreakOff;
  /** Hands the bytes on as `change` has them, behind what is watched. */
  change(change: StreamChange): void;
  /** Hands all bytes to a sink from now on. */
  pipe(to: DirectSink): void;
  /** The sink can take more. */
  resume(): void;
  /** The sink is gone. */
  cancel(): void;
}

/**
 * How long an aborted stream waits for its reader to cancel it before it fails, in ms. Deno cancels the body of an answer a
 * moment after it reported that the client left, and prints the error of a body that failed before.
 */
const GONE_MS = 50;

const bodies = attached<UpstreamBody>("upstream-body");

/** Returns the upstream body behind a stream that is not read yet; undefined for any other stream. */
export function upstreamBodyOf(stream: ReadableStream<Uint8Array>): UpstreamBody | undefined {
  return stream.locked ? undefined : bodies.get(stream);
}

const nothing = (): Uint8Array => new Uint8Array(0);

interface State {
  readonly control: UpstreamControl;
  readonly waiting: Uint8Array[];
  /** Bytes of all waiting chunks. */
  bytes: number;
  /** Whether the stream's reader waits for a chunk. */
  hungry: boolean;
  /** Whether the upstream has sent all. */
  ended: boolean;
  outcome: StreamEnd | undefined;
  /** The error that the stream's reader gets when it asks for more. */
  failure: TransportError | undefined;
  watcher: StreamWatch | undefined;
  changer: StreamChange | undefined;
  sink: DirectSink | undefined;
  out: ReadableStreamDefaultController<Uint8Array> | undefined;
}

/**
 * Makes a body with one consumer: a web stream that asks chunk by chunk, or a sink that is written to from the network's
 * callback, at a third of the cost. Watching costs no stream of its own either.
 */
export function upstreamBody(
  control: UpstreamControl,
  lastOfSilent: () => Uint8Array = nothing,
): UpstreamBody {
  const state: State = {
    control,
    waiting: [],
    bytes: 0,
    hungry: false,
    ended: false,
    outcome: undefined,
    failure: undefined,
    watcher: undefined,
    changer: undefined,
    sink: undefined,
    out: undefined,
  };
  const cancel = (): void => {
    if (!finish(state, "aborted")) return;
    control.abort(new TransportError("aborted", "The reader of the answer went away"));
  };
  const stream = streamOf(state, cancel);
  const body: UpstreamBody = {
    stream,
    data: (chunk) => {
      if (state.outcome === undefined) take(state, chunk);
    },
    end() {
      state.ended = true;
      closeIfDone(state);
    },
    fail(error) {
      fail(error, error instanceof SilentAnswer ? lastOfSilent : nothing, state);
    },
    watch(watcher) {
      state.watcher = watcher;
      // It broke off before anybody looked.
      if (state.outcome !== undefined) watcher.onEnd(state.outcome);
      return (last) => {
        const error = endedOnPurpose();
        fail(error, () => last ?? nothing(), state);
        control.abort(error);
      };
    },
    change(changer) {
      state.changer = changer;
    },
    pipe(to) {
      pipeInto(to, state);
    },
    resume: () => {
      control.resume();
    },
    cancel,
  };
  bodies.set(stream, body);
  return body;
}

function streamOf(state: State, cancel: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        state.out = controller;
      },
      pull(controller) {
        if (state.failure !== undefined) {
          failSoon(controller, state.failure);
          return;
        }
        const bytes = all(state);
        if (bytes.length > 0) controller.enqueue(bytes);
        else state.hungry = true;
        resumeIfRoom(state);
        closeIfDone(state);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}

/** From here on the sink takes what comes; first what waits, because resuming brings the next bytes at once. */
function pipeInto(to: DirectSink, state: State): void {
  if (state.outcome !== undefined) {
    if (state.outcome === "complete") to.end();
    else to.fail();
    return;
  }
  let hasRoom = true;
  for (let chunk = next(state); chunk !== undefined; chunk = next(state))
    if (chunk.length > 0) hasRoom = to.write(chunk);
  state.sink = to;
  if (hasRoom) resumeIfRoom(state);
  else state.control.pause();
  closeIfDone(state);
}

/** Call it only when the consumer has what it asked for: more bytes, or the end, may come before this returns. */
function resumeIfRoom({ bytes, control }: State): void {
  if (bytes < WAITING_BYTES) control.resume();
}

/** Whether this was the end; a second one changes nothing. */
function finish(state: State, how: StreamEnd): boolean {
  if (state.outcome !== undefined) return false;
  state.outcome = how;
  state.watcher?.onEnd(how);
  return true;
}

/** Ends the body with an error, behind its last bytes if there are any. */
function fail(error: TransportError, last: () => Uint8Array, state: State): void {
  const isLeft = error.reason === "aborted";
  if (!finish(state, isLeft ? "aborted" : "broken")) return;
  if (!isLeft) handLast(state);
  if (failAfter(last(), error, state)) return;
  if (state.sink !== undefined) state.sink.fail();
  else if (isLeft) setTimeout(() => state.out?.error(error), GONE_MS);
  else state.out?.error(error);
}

function closeIfDone(state: State): void {
  if (!state.ended || state.waiting.length > 0 || !finish(state, "complete")) return;
  handLast(state);
  if (state.sink === undefined) state.out?.close();
  else state.sink.end();
}

/** Hands on the last bytes of an answer that fell silent, then fails; false when there are no such bytes. */
function failAfter(last: Uint8Array, error: TransportError, state: State): boolean {
  if (last.length === 0) return false;
  if (state.sink !== undefined) {
    const { sink } = state;
    sink.write(last);
    setTimeout(() => sink.fail(), LAST_BYTES_MS);
  } else if (state.hungry) {
    state.hungry = false;
    state.out?.enqueue(last);
    state.failure = error;
  } else state.out?.error(error);
  return true;
}

/** Hands on what a change has kept back. */
function handLast({ changer, sink, out }: State): void {
  const last = changer?.end();
  if (last === undefined || last.length === 0) return;
  if (sink === undefined) out?.enqueue(last);
  else sink.write(last);
}

/** Returns the next chunk that waits, on its way to the consumer. */
function next(state: State): Uint8Array | undefined {
  const chunk = state.waiting.shift();
  if (chunk === undefined) return undefined;
  state.bytes -= chunk.byteLength;
  return passed(state, chunk);
}

/** Returns all that waits, joined: each chunk costs a stream's reader more than the few bytes of an event. */
function all(state: State): Uint8Array {
  const chunks: Uint8Array[] = [];
  for (let chunk = next(state); chunk !== undefined; chunk = next(state)) chunks.push(chunk);
  const [first = nothing()] = chunks;
  return chunks.length < 2 ? first : joinBytes(chunks);
}

/** Returns a chunk as the consumer gets it; empty when all of it is kept back. */
function passed({ watcher, changer }: State, chunk: Uint8Array): Uint8Array {
  watcher?.onChunk(chunk);
  return changer === undefined ? chunk : changer.push(chunk);
}

/** Takes a chunk from the network: it goes to the consumer at once when it can take it. */
function take(state: State, chunk: Uint8Array<ArrayBuffer>): void {
  if (state.sink !== undefined) {
    const handed = passed(state, chunk);
    if (handed.length > 0 && !state.sink.write(handed)) state.control.pause();
  } else if (state.hungry) {
    const handed = passed(state, chunk);
    if (handed.length === 0) return;
    state.hungry = false;
    state.out?.enqueue(handed);
  } else {
    state.waiting.push(chunk);
    state.bytes += chunk.byteLength;
    if (state.bytes >= WAITING_BYTES) state.control.pause();
  }
}
