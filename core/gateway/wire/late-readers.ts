import type { StreamEnd } from "../../ports.ts";

/** One of the readers of a stream; each reads at a pace of its own. */
export interface LateReader {
  /** Number of the next chunk. */
  next: number;
  /** Bytes of it that the reader had before. */
  skip: number;
  /** Weight of the chunks taken. */
  taken: number;
  /** Set while it waits for a chunk. */
  wake: (() => void) | null;
  isGone: boolean;
  /** Why it was broken off, which its next pull tells. */
  failure: Error | null;
  readonly onLeave: () => void;
}

export type ReadingPlace = Pick<LateReader, "next" | "skip">;

/** Rules on how much of a stream is kept, and for which readers it waits. */
export interface LateRules {
  /** Whether chunks are copied: one can be the window of a far larger buffer, which would be kept with it. */
  readonly copies: boolean;
  /** Whether the source is to give another chunk; asked again after {@link LateReaders.wakeSource}. */
  isWanted(): boolean;
  /** A chunk has come, and is the last of {@link LateReaders.chunks}. */
  onChunk(chunk: Uint8Array): void;
  /** A reader has taken a chunk. */
  onTaken(reader: LateReader): void;
  /** A reader has ended, left, or was broken off. */
  onLeft(reader: LateReader): void;
  onEnd(how: StreamEnd): void;
}

/** One source and its readers, which may join after it has begun. */
export interface LateReaders {
  readonly chunks: readonly Uint8Array[];
  readonly readers: ReadonlySet<LateReader>;
  readonly end: { readonly how: StreamEnd; readonly error?: unknown } | null;
  /**
   * Reads the source until its end, in the context of the request that calls this: workerd lets no other request touch
   * it. Call it once; never rejects.
   */
  run(): Promise<void>;
  /** A reader from a place in the kept chunks on. `onLeave` is called once. */
  subscribe(place: ReadingPlace, onLeave: () => void): NewReader;
  /** Ends a reader, in whose stream this is an error. */
  breakOff(reader: LateReader, failure: Error): void;
  /** Drops the chunks that no reader lacks, and returns them. */
  drop(): readonly Uint8Array[];
  wakeSource(): void;
  /** Ends all readers as if the source had failed. */
  finish(reason: unknown): void;
  /** Does the same, and cancels the source. */
  stop(reason: unknown): void;
}

export interface NewReader {
  readonly reader: LateReader;
  readonly body: ReadableStream<Uint8Array>;
}

/** The weight of a chunk beside its bytes: a stream of many tiny ones must not outgrow its limit. */
const CHUNK_OVERHEAD = 64;

export function chunkWeight(chunk: Uint8Array): number {
  return chunk.length + CHUNK_OVERHEAD;
}

interface State {
  readonly rules: LateRules;
  readonly input: ReadableStreamDefaultReader<Uint8Array>;
  readonly readers: Set<LateReader>;
  readonly chunks: Uint8Array[];
  /** Number of `chunks[0]`. */
  first: number;
  end: LateReaders["end"];
  demand: PromiseWithResolvers<void>;
}

/** Lets several readers read one stream. Nothing is read ahead of what the rules allow. */
export function lateReaders(source: ReadableStream<Uint8Array>, rules: LateRules): LateReaders {
  const state: State = {
    rules,
    input: source.getReader(),
    readers: new Set(),
    chunks: [],
    first: 0,
    end: null,
    demand: Promise.withResolvers(),
  };
  return {
    chunks: state.chunks,
    readers: state.readers,
    get end() {
      return state.end;
    },
    run: () => run(state),
    subscribe: (place, onLeave) => subscribe(state, place, onLeave),
    breakOff: (reader, failure) => leave(state, reader, failure),
    drop: () => drop(state),
    wakeSource: () => wakeSource(state),
    finish: (reason) => finish(state, "aborted", reason),
    stop(reason) {
      finish(state, "aborted", reason);
      state.input.cancel(reason).catch(() => undefined);
    },
  };
}

async function run(state: State): Promise<void> {
  const { rules, input } = state;
  try {
    while (state.end === null) {
      if (!rules.isWanted()) {
        await state.demand.promise;
        continue;
      }
      const { done, value } = await input.read();
      if (done) finish(state, "complete");
      else take(state, value);
    }
  } catch (error) {
    finish(state, "broken", error);
  }
}

function take(state: State, chunk: Uint8Array): void {
  if (state.end !== null) return;
  const { rules, chunks, readers } = state;
  const kept = rules.copies ? chunk.slice() : chunk;
  chunks.push(kept);
  rules.onChunk(kept);
  for (const reader of readers) wake(reader);
}

function finish(state: State, how: StreamEnd, error?: unknown): void {
  if (state.end !== null) return;
  state.end = { how, error };
  state.rules.onEnd(how);
  for (const reader of state.readers) wake(reader);
  wakeSource(state);
}

function drop(state: State): readonly Uint8Array[] {
  let needed = state.first + state.chunks.length;
  for (const { next } of state.readers) needed = Math.min(needed, next);
  const gone = state.chunks.splice(0, needed - state.first);
  state.first = needed;
  return gone;
}

function wakeSource(state: State): void {
  state.demand.resolve();
  state.demand = Promise.withResolvers();
}

function wake(reader: LateReader): void {
  const { wake: resolve } = reader;
  // At once, not when the reader runs again: until then it would look as if it still waited.
  reader.wake = null;
  resolve?.();
}

function subscribe(state: State, place: ReadingPlace, onLeave: () => void): NewReader {
  const reader: LateReader = {
    ...place,
    taken: 0,
    wake: null,
    isGone: false,
    failure: null,
    onLeave,
  };
  state.readers.add(reader);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => pull(state, reader, controller),
      cancel: () => leave(state, reader),
    },
    { highWaterMark: 0 },
  );
  return { reader, body };
}

async function pull(
  state: State,
  reader: LateReader,
  controller: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  await news(state, reader);
  if (reader.failure !== null) throw reader.failure;
  if (reader.isGone) return;
  const chunk = state.chunks[reader.next - state.first];
  if (chunk !== undefined) {
    const rest = reader.skip === 0 ? chunk : chunk.subarray(reader.skip);
    reader.next++;
    reader.skip = 0;
    reader.taken += chunkWeight(chunk);
    state.rules.onTaken(reader);
    controller.enqueue(rest);
    return;
  }
  leave(state, reader);
  if (state.end?.how !== "complete") throw state.end?.error;
  controller.close();
}

/** Waits until there is a chunk for the reader, or an end. */
async function news(state: State, reader: LateReader): Promise<void> {
  const isIdle = (): boolean =>
    !reader.isGone && state.end === null && reader.next === state.first + state.chunks.length;
  while (isIdle()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    reader.wake = resolve;
    wakeSource(state);
    await promise;
  }
}

function leave(state: State, reader: LateReader, failure: Error | null = null): void {
  if (!state.readers.delete(reader)) return;
  reader.isGone = true;
  reader.failure = failure;
  wake(reader);
  reader.onLeave();
  state.rules.onLeft(reader);
  wakeSource(state);
}
