import type { StreamEnd, StreamWatch } from "../../../ports.ts";
import { TransportError } from "../../../transport-error.ts";

/** One stream that several readers take, each at a pace of its own. */
export interface SharedStream {
  /** All bytes from the first on; null when they are gone, or the source failed. `onLeave` is called once. */
  subscribe(onLeave: () => void): ReadableStream<Uint8Array> | null;
  /** Ends the source. Call it when nobody reads any more. */
  stop(reason: unknown): void;
  /** All chunks so far; null once the first ones are gone. */
  readonly chunks: readonly Uint8Array[] | null;
  /** Resolves when the source has ended. */
  readonly over: Promise<void>;
}

/** What is kept of a shared stream. */
export interface SharedLimits {
  /** Bytes that are kept from the first on; beyond, what the slowest reader lacks, at most as much. */
  readonly bytes: number;
  /** Bytes that all streams together may keep from the first on. */
  readonly budget: { left: number };
  /** Called when the first bytes are dropped: nobody can join any more. */
  readonly onOverflow: () => void;
}

/** What a chunk costs beside its bytes: a stream of many tiny ones must not outgrow its limit. */
const CHUNK_OVERHEAD = 64;

interface Reader {
  /** Number of the next chunk. */
  at: number;
  /** Weight of the chunks taken. */
  taken: number;
  /** Set while it waits for a chunk. */
  wake: (() => void) | null;
  state: "reading" | "lagging" | "gone";
  readonly onLeave: () => void;
}

interface State {
  readonly limits: SharedLimits;
  readonly watch: StreamWatch;
  readonly readers: Set<Reader>;
  /** The first reader, while it reads. */
  owner: Reader | null;
  readonly chunks: Uint8Array[];
  /** Number of `chunks[0]`. */
  first: number;
  /** Weight of all chunks that came. */
  received: number;
  /** Whether the chunks are kept from the first on. */
  whole: boolean;
  end: { readonly how: StreamEnd; readonly error?: unknown } | null;
  demand: PromiseWithResolvers<void>;
}

/**
 * Shares a stream. Nothing is read ahead: the source gives a chunk when a reader has taken all others. The
 * first reader owns the stream: past the limit the others wait for it rather than run away from it, and are
 * broken off when they are behind by more than the limit themselves. One loop reads the source, in the context
 * of the request that calls this: workerd lets no other request touch it.
 */
export function sharedStream(
  source: ReadableStream<Uint8Array>,
  limits: SharedLimits,
  watch: StreamWatch,
): SharedStream {
  const state: State = {
    limits,
    watch,
    readers: new Set(),
    owner: null,
    chunks: [],
    first: 0,
    received: 0,
    whole: true,
    end: null,
    demand: Promise.withResolvers(),
  };
  const input = source.getReader();
  const over = run(state, input);
  return {
    subscribe: (onLeave) => subscribe(state, onLeave),
    stop(reason) {
      finish(state, "aborted", reason);
      input.cancel(reason).catch(() => undefined);
    },
    get chunks() {
      return state.whole ? state.chunks : null;
    },
    over,
  };
}

async function run(state: State, input: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (state.end === null) {
      if (!isWanted(state)) {
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

/** Whether a reader waits that may have the next chunk. */
function isWanted({ readers, owner, whole, received, limits }: State): boolean {
  const mayPass = whole || owner === null || received - owner.taken < limits.bytes;
  for (const reader of readers) {
    if (reader.wake !== null && (mayPass || reader === owner)) return true;
  }
  return false;
}

function take(state: State, chunk: Uint8Array): void {
  if (state.end !== null) return;
  const { budget, bytes, onOverflow } = state.limits;
  const weight = chunkWeight(chunk);
  if (state.whole && (state.received + weight > bytes || weight > budget.left)) {
    state.whole = false;
    budget.left += state.received;
    onOverflow();
  }
  if (state.whole) budget.left -= weight;
  state.received += weight;
  state.chunks.push(chunk);
  state.watch.onChunk(chunk);
  trim(state);
  for (const reader of state.readers) wake(reader);
}

/** Past the limit: breaks off who is too far behind, and drops what nobody lacks. */
function trim(state: State): void {
  if (state.whole || state.end !== null) return;
  const { readers, owner, received, limits, chunks } = state;
  for (const reader of readers) {
    if (reader !== owner && received - reader.taken > limits.bytes) leave(state, reader, "lagging");
  }
  const needed = Math.min(state.first + chunks.length, ...[...readers].map(({ at }) => at));
  chunks.splice(0, needed - state.first);
  state.first = needed;
}

function finish(state: State, how: StreamEnd, error?: unknown): void {
  if (state.end !== null) return;
  state.end = { how, error };
  if (state.whole) state.limits.budget.left += state.received;
  state.watch.onEnd(how);
  for (const reader of state.readers) wake(reader);
  wakeSource(state);
}

function wakeSource(state: State): void {
  state.demand.resolve();
  state.demand = Promise.withResolvers();
}

function wake(reader: Reader): void {
  const { wake: resolve } = reader;
  // At once, not when the reader runs again: until then it would look as if it still waited.
  reader.wake = null;
  resolve?.();
}

function subscribe(state: State, onLeave: () => void): ReadableStream<Uint8Array> | null {
  const { end, whole, received, readers } = state;
  if (!whole || (end !== null && end.how !== "complete")) return null;
  const reader: Reader = { at: 0, taken: 0, wake: null, state: "reading", onLeave };
  readers.add(reader);
  if (received === 0) state.owner ??= reader;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => pull(state, reader, controller),
      cancel: () => leave(state, reader, "gone"),
    },
    { highWaterMark: 0 },
  );
}

async function pull(
  state: State,
  reader: Reader,
  controller: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  await news(state, reader);
  if (reader.state === "gone") return;
  if (reader.state === "lagging") {
    throw new TransportError("broken", "The client reads too slowly to share this answer");
  }
  const chunk = state.chunks[reader.at - state.first];
  if (chunk !== undefined) {
    reader.at++;
    reader.taken += chunkWeight(chunk);
    trim(state);
    // The others may have been waiting for the owner.
    if (reader === state.owner) wakeSource(state);
    controller.enqueue(chunk);
    return;
  }
  leave(state, reader, "gone");
  if (state.end?.how !== "complete") throw state.end?.error;
  controller.close();
}

/** Waits until there is a chunk for the reader, or an end. */
async function news(state: State, reader: Reader): Promise<void> {
  const isIdle = (): boolean =>
    reader.state === "reading" &&
    state.end === null &&
    reader.at === state.first + state.chunks.length;
  while (isIdle()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    reader.wake = resolve;
    wakeSource(state);
    await promise;
  }
}

function leave(state: State, reader: Reader, how: "lagging" | "gone"): void {
  if (!state.readers.delete(reader)) return;
  reader.state = how;
  if (reader === state.owner) state.owner = null;
  wake(reader);
  reader.onLeave();
  wakeSource(state);
}

/** Bytes that a kept chunk costs. */
export function chunkWeight(chunk: Uint8Array): number {
  return chunk.length + CHUNK_OVERHEAD;
}
