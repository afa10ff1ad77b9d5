import { TransportError } from "../../net/transport-error.ts";
import {
  chunkWeight,
  type LateReaders,
  lateReaders,
  type ReadingPlace,
} from "../wire/late-readers.ts";
import { resumeOffsets } from "./resume-offsets.ts";

/** The weight of an event's recorded end. */
const END_BYTES = 8;

/** A stream that goes on without its reader, and can be taken up again. */
export interface ResumableRun {
  /** All of it, for the first reader. */
  readonly body: ReadableStream<Uint8Array>;
  /**
   * Returns the events from number `from` on, those still to come included, for the one reader of the run: an earlier
   * reader is broken off. Null when nothing is left to read. `onLeave` is called once.
   */
  read(from: number, onLeave: () => void): ReadableStream<Uint8Array> | null;
  /** Number of whole events that came. */
  readonly events: number;
  /** Drops the buffer, so that no client can resume the run. Ends the source unless a client reads. */
  forget(): void;
  /** When the last reader left, in Unix ms; null while one reads. */
  readonly leftAt: number | null;
  /** Resolves when the source has ended. */
  readonly over: Promise<void>;
}

export interface RunOptions {
  readonly source: ReadableStream<Uint8Array>;
  readonly now: () => number;
  /** Called with the change of the run's weight, in bytes. */
  readonly onWeight: (change: number) => void;
  /** Called when the reader has left. */
  readonly onLeft: () => void;
  /** Called when the run can no longer be resumed; at most once. */
  readonly onForget: () => void;
  /** Ends what brings the source. */
  readonly end: (reason: unknown) => void;
}

interface State {
  readonly options: RunOptions;
  readonly late: LateReaders;
  /** Offsets behind each event. */
  readonly ends: number[];
  /** Whether all chunks are kept. */
  isKept: boolean;
  leftAt: number | null;
  readonly stopped: PromiseWithResolvers<unknown>;
}

/**
 * Keeps the events of a stream. While a client reads, the source gives a chunk only when all before were taken, so that a
 * slow client slows it; without a reader it is read as it comes.
 */
export function startRun(options: RunOptions): ResumableRun {
  const scan = resumeOffsets();
  const state: State = {
    options,
    late: lateReaders(options.source, {
      copies: true,
      isWanted() {
        const [reader] = state.late.readers;
        return reader === undefined || reader.wake !== null;
      },
      onChunk(chunk) {
        const ends = state.isKept ? scan.push(chunk) : [];
        for (const end of ends ?? []) state.ends.push(end);
        options.onWeight(chunkWeight(chunk) + END_BYTES * (ends?.length ?? 0));
        if (ends === null) forget(state);
      },
      onTaken: () => trim(state),
      onLeft({ failure }) {
        state.leftAt = options.now();
        // Another reader is about to take its place.
        if (failure !== null) return;
        if (!state.isKept) {
          trim(state);
          stop(state);
        }
        options.onLeft();
      },
      onEnd: () => undefined,
    }),
    ends: [],
    isKept: true,
    leftAt: options.now(),
    stopped: Promise.withResolvers(),
  };
  // The continuation runs in the context of the request that calls this: workerd lets no other one end its calls.
  void state.stopped.promise.then((reason) => {
    options.end(reason);
    state.late.stop(reason);
  });
  const body = subscribe(state, { next: 0, skip: 0 }, () => undefined);
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
    over: state.late.run(),
  };
}

/** Ends the source, if it still brings anything. */
function stop({ late, stopped }: State): void {
  if (late.end !== null) return;
  const reason = new TransportError("aborted", "No client reads this stream or can resume it");
  late.finish(reason);
  stopped.resolve(reason);
}

function forget(state: State): void {
  if (!state.isKept) return;
  state.isKept = false;
  state.options.onWeight(-END_BYTES * state.ends.splice(0).length);
  trim(state);
  state.options.onForget();
  if (state.late.readers.size === 0) stop(state);
}

/** Drops chunks that can no longer be asked for. */
function trim({ isKept, late, options }: State): void {
  if (isKept) return;
  const gone = late.drop();
  if (gone.length === 0) return;
  options.onWeight(-gone.reduce((weight, chunk) => weight + chunkWeight(chunk), 0));
}

function read(state: State, from: number, onLeave: () => void): ReadableStream<Uint8Array> | null {
  const { late, ends, isKept } = state;
  const offset = from === 0 ? 0 : ends[from - 1];
  if (!isKept || offset === undefined) return null;
  if (late.end !== null && late.end.how !== "complete" && from === ends.length) return null;
  const replaced = new TransportError("broken", "The stream goes on over another connection");
  for (const reader of late.readers) late.breakOff(reader, replaced);
  return subscribe(state, placeAt(late.chunks, offset), onLeave);
}

function subscribe(
  state: State,
  place: ReadingPlace,
  onLeave: () => void,
): ReadableStream<Uint8Array> {
  const { body } = state.late.subscribe(place, onLeave);
  state.leftAt = null;
  return body;
}

function placeAt(chunks: readonly Uint8Array[], offset: number): ReadingPlace {
  let next = 0;
  let skip = offset;
  for (; next < chunks.length && skip >= (chunks[next]?.length ?? 0); next++) {
    skip -= chunks[next]?.length ?? 0;
  }
  return { next, skip };
}
