import { TransportError } from "../../../transport-error.ts";
import { eventEnds, type EventEnds } from "./event-ends.ts";

/** What an entry of the buffer costs beside its bytes. */
const PIECE_OVERHEAD = 64;
/** What the place of an event's end costs. */
const END_BYTES = 8;

/** A stream that goes on without its reader, and can be taken up again. */
export interface ResumableRun {
  /** All of it, for the first reader. */
  readonly body: ReadableStream<Uint8Array>;
  /**
   * What came behind event number `from`, and what still comes, for the one reader of the run: an earlier one is
   * broken off. Null when there is nothing to read any more. `onLeave` is called once.
   */
  read(from: number, onLeave: () => void): ReadableStream<Uint8Array> | null;
  /** Number of whole events that came. */
  readonly events: number;
  /** Lets the buffer go: nobody can come back. Ends the source unless somebody reads. */
  forget(): void;
  /** Since when nobody reads, in Unix ms; null while somebody does. */
  readonly leftAt: number | null;
  /** Resolves when the source has ended. */
  readonly over: Promise<void>;
}

/** What a run is made of. */
export interface RunOptions {
  readonly source: ReadableStream<Uint8Array>;
  readonly now: () => number;
  /** Told how much heavier, in bytes, the run became. */
  readonly onWeight: (change: number) => void;
  /** Nobody reads any more. */
  readonly onLeft: () => void;
  /** Nobody can come back any more; called at most once. */
  readonly onForget: () => void;
  /** Ends what brings the source. */
  readonly end: (reason: unknown) => void;
}

interface Reader {
  /** Number of the next piece. */
  next: number;
  /** Bytes of it that the reader had before. */
  skip: number;
  /** Set while it waits. */
  wake: (() => void) | null;
  state: "reading" | "left" | "replaced";
  readonly onLeave: () => void;
}

interface State {
  readonly options: RunOptions;
  readonly pieces: Uint8Array[];
  /** Number of `pieces[0]`. */
  first: number;
  readonly scan: EventEnds;
  /** Offsets behind each event. */
  readonly ends: number[];
  /** Whether all pieces are kept. */
  kept: boolean;
  reader: Reader | null;
  leftAt: number | null;
  end: { readonly error?: unknown } | null;
  demand: PromiseWithResolvers<void>;
  readonly stopped: PromiseWithResolvers<unknown>;
}

/**
 * Keeps what a stream brings. While somebody reads, the source gives a chunk only when all before were taken, so
 * that a slow client slows it; while nobody does, it is read as it comes.
 */
export function startRun(options: RunOptions): ResumableRun {
  const state: State = {
    options,
    pieces: [],
    first: 0,
    scan: eventEnds(),
    ends: [],
    kept: true,
    reader: null,
    leftAt: options.now(),
    end: null,
    demand: Promise.withResolvers(),
    stopped: Promise.withResolvers(),
  };
  const input = options.source.getReader();
  // The continuation runs in the context of the request that calls this: workerd lets no other one end its calls.
  void state.stopped.promise.then((reason) => {
    options.end(reason);
    input.cancel(reason).catch(() => undefined);
  });
  const body = subscribe(state, { next: 0, skip: 0 }, () => undefined);
  const over = pump(state, input);
  return {
    body,
    read: (from, onLeave) => read(state, from, onLeave),
    get events() {
      return state.ends.length;
    },
    forget: () => forget(state),
    get leftAt() {
      return state.leftAt;
    },
    over,
  };
}

async function pump(state: State, input: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    for (;;) {
      while (state.reader !== null && state.reader.wake === null && state.end === null) {
        await state.demand.promise;
      }
      if (state.end !== null) return;
      const { done, value } = await input.read();
      if (done) return finish(state, {});
      take(state, value);
    }
  } catch (error) {
    finish(state, { error });
  }
}

function take(state: State, chunk: Uint8Array): void {
  if (state.end !== null) return;
  // A chunk can be the window of a far larger buffer, which would be kept with it.
  const piece = chunk.slice();
  const ends = state.kept ? state.scan.push(piece) : [];
  state.pieces.push(piece);
  for (const end of ends ?? []) state.ends.push(end);
  wake(state.reader);
  state.options.onWeight(piece.length + PIECE_OVERHEAD + END_BYTES * (ends?.length ?? 0));
  if (ends === null) forget(state);
}

function finish(state: State, end: NonNullable<State["end"]>): void {
  if (state.end !== null) return;
  state.end = end;
  wake(state.reader);
  wakePump(state);
}

/** Ends the source, if it still brings anything. */
function stop(state: State): void {
  if (state.end !== null) return;
  const reason = new TransportError("aborted", "Nobody reads this stream or can come back to it");
  finish(state, { error: reason });
  state.stopped.resolve(reason);
}

function forget(state: State): void {
  if (!state.kept) return;
  state.kept = false;
  state.options.onWeight(-END_BYTES * state.ends.splice(0).length);
  trim(state);
  state.options.onForget();
  if (state.reader === null) stop(state);
}

/** Drops what nobody can ask for any more. */
function trim(state: State): void {
  if (state.kept) return;
  const gone = state.reader === null ? state.pieces.length : state.reader.next - state.first;
  let bytes = 0;
  for (const piece of state.pieces.splice(0, gone)) bytes += piece.length + PIECE_OVERHEAD;
  state.first += gone;
  if (gone > 0) state.options.onWeight(-bytes);
}

function read(state: State, from: number, onLeave: () => void): ReadableStream<Uint8Array> | null {
  const offset = from === 0 ? 0 : state.ends[from - 1];
  if (!state.kept || offset === undefined) return null;
  if (state.end !== null && "error" in state.end && from === state.ends.length) return null;
  if (state.reader !== null) leave(state, state.reader, "replaced");
  return subscribe(state, pieceAt(state.pieces, offset), onLeave);
}

function subscribe(
  state: State,
  at: Pick<Reader, "next" | "skip">,
  onLeave: () => void,
): ReadableStream<Uint8Array> {
  const reader: Reader = { ...at, wake: null, state: "reading", onLeave };
  state.reader = reader;
  state.leftAt = null;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => pull(state, reader, controller),
      cancel: () => leave(state, reader, "left"),
    },
    { highWaterMark: 0 },
  );
}

function pieceAt(pieces: readonly Uint8Array[], offset: number): Pick<Reader, "next" | "skip"> {
  let next = 0;
  let skip = offset;
  for (; next < pieces.length && skip >= (pieces[next]?.length ?? 0); next++) {
    skip -= pieces[next]?.length ?? 0;
  }
  return { next, skip };
}

async function pull(
  state: State,
  reader: Reader,
  controller: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  await news(state, reader);
  if (reader.state === "left") return;
  if (reader.state === "replaced") {
    throw new TransportError("broken", "The stream goes on over another connection");
  }
  const piece = state.pieces[reader.next - state.first];
  if (piece !== undefined) {
    const chunk = piece.subarray(reader.skip);
    reader.next++;
    reader.skip = 0;
    trim(state);
    controller.enqueue(chunk);
    return;
  }
  leave(state, reader, "left");
  if (state.end !== null && "error" in state.end) throw state.end.error;
  controller.close();
}

/** Waits until there is a piece for the reader, or an end. */
async function news(state: State, reader: Reader): Promise<void> {
  const isIdle = (): boolean =>
    reader.state === "reading" &&
    state.end === null &&
    reader.next === state.first + state.pieces.length;
  while (isIdle()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    reader.wake = resolve;
    wakePump(state);
    await promise;
  }
}

function leave(state: State, reader: Reader, how: "left" | "replaced"): void {
  if (state.reader !== reader) return;
  reader.state = how;
  state.reader = null;
  state.leftAt = state.options.now();
  wake(reader);
  reader.onLeave();
  if (how === "replaced") return;
  if (!state.kept) {
    trim(state);
    stop(state);
  }
  wakePump(state);
  state.options.onLeft();
}

function wake(reader: Reader | null): void {
  const resolve = reader?.wake;
  if (reader === null) return;
  // At once, not when the reader runs again: until then it would look as if it still waited.
  reader.wake = null;
  resolve?.();
}

function wakePump(state: State): void {
  state.demand.resolve();
  state.demand = Promise.withResolvers();
}
