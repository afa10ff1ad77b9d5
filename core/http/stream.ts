import type { System } from "../ports.ts";

/** The result of one read of a stream; the last one may bring bytes as well. */
export type StreamRead =
  | { readonly done: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value?: Uint8Array | undefined };

/**
 * A stream that hands out what `read` resolves to, one chunk per pull: a slow reader slows the source. It fails as
 * `read` does.
 */
export function pulledStream(
  read: () => Promise<StreamRead>,
  cancel: (reason: unknown) => Promise<void>,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await read();
        if (value !== undefined && !(done && value.length === 0)) controller.enqueue(value);
        if (done) controller.close();
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}

/** The same bytes at the pace of their reader. `look` receives each read and returns its result. */
export function passThrough(
  source: ReadableStream<Uint8Array>,
  look: (read: Promise<StreamRead>) => Promise<StreamRead>,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return pulledStream(
    () => look(reader.read()),
    (reason) => reader.cancel(reason),
  );
}

/** A stream of the chunks that were read already, and then of the rest. */
export function withPrefix(
  chunks: readonly Uint8Array[],
  rest: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  const waiting = [...chunks];
  return pulledStream(
    async () => {
      const value = waiting.shift();
      return value === undefined ? rest.read() : { done: false, value };
    },
    (reason) => rest.cancel(reason),
  );
}

/** Receives the size of each chunk that arrives; an error that it throws ends the reading. */
export type ChunkCount = (bytes: number) => void;

/**
 * All bytes of a stream; null as soon as there are more than `limit`, whose rest is not read. Rejects as the stream
 * does.
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array>,
  limit: number,
  count?: ChunkCount,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const reader = stream.getReader();
  const { pieces, isWhole } = await gathered(reader, limit + 1, count);
  if (isWhole) return joinBytes(pieces.list);
  // It also releases the reader, so a refused upload does not keep its connection busy.
  await reader.cancel().catch(() => undefined);
  return null;
}

/** All bytes of a body, however it came; null when there are more than `limit`. Rejects as its stream does. */
export async function bodyUpTo(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  limit: number,
  count?: ChunkCount,
): Promise<Uint8Array | null> {
  const bytes = body ?? new Uint8Array(0);
  if (!(bytes instanceof Uint8Array)) return readUpTo(bytes, limit, count);
  count?.(bytes.length);
  return bytes.length > limit ? null : bytes;
}

/** All bytes of a stream; when they are more than `limit`, a stream of the same bytes. */
export async function readOrPass(
  stream: ReadableStream<Uint8Array>,
  limit: number,
  count?: ChunkCount,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = stream.getReader();
  const { pieces, isWhole } = await gathered(reader, limit + 1, count);
  return isWhole ? pieces.whole() : withPrefix(pieces.list, reader);
}

/** The first bytes of a stream, at most `limit`; the rest is not read. */
export async function firstBytes(
  stream: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const { pieces, isWhole } = await gathered(reader, limit);
  if (!isWhole) await reader.cancel().catch(() => undefined);
  return joinBytes(pieces.list).subarray(0, limit);
}

/** Reads until there are `enough` bytes, or no more. */
async function gathered(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  enough: number,
  count?: ChunkCount,
): Promise<{ readonly pieces: BytePieces; readonly isWhole: boolean }> {
  const pieces = bytePieces();
  try {
    while (pieces.size < enough) {
      const { done, value } = await reader.read();
      if (done) return { pieces, isWhole: true };
      count?.(value.length);
      pieces.add(value);
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    throw error;
  }
  return { pieces, isWhole: false };
}

/** Bytes of a piece of {@link inSmallPieces}: packed a thousand times they are four megabytes. */
const PIECE = 4096;

/**
 * Cuts what flows into small pieces, for a decompressor: Deno's unpacks a whole piece at once, however much it becomes, before its
 * reader has counted any.
 */
export function inSmallPieces(): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    transform(chunk, out) {
      for (let at = 0; at < chunk.length; at += PIECE)
        out.enqueue(new Uint8Array(chunk.subarray(at, at + PIECE)));
    },
  });
}

export interface BytePieces {
  add(piece: Uint8Array): void;
  /** Bytes of all pieces. */
  readonly size: number;
  /** The pieces in order, some of them joined. */
  readonly list: Uint8Array[];
  /** All bytes; the piece itself when there is only one. */
  whole(): Uint8Array;
}

/** Pieces of which this many become one: each costs more than the few bytes that it may hold. */
const LOOSE = 1024;

/** Collects pieces, each byte of which is copied at most twice, in memory in proportion to their bytes however small they are. */
export function bytePieces(): BytePieces {
  const list: Uint8Array[] = [];
  let loose = 0;
  // A member and no accessor: V8 would make a hidden class for each object, which costs a request a tenth of its CPU.
  const pieces = {
    list,
    size: 0,
    add(piece: Uint8Array) {
      if (piece.length === 0) return;
      list.push(piece);
      pieces.size += piece.length;
      if (++loose < LOOSE) return;
      list.push(joinBytes(list.splice(-LOOSE)));
      loose = 0;
    },
    whole() {
      const [first = new Uint8Array(0)] = list;
      return list.length > 1 ? joinBytes(list) : first;
    },
  };
  return pieces;
}

/** The bytes of all pieces, one after the other. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Bytes that are joined at a time: two milliseconds. */
const JOINED_AT_ONCE = 4 * 1024 * 1024;

/** Does {@link joinBytes}, with pauses for other work if it can: 40 MB at once would hold that up for 20 ms. */
export async function joinInParts(
  pieces: readonly Uint8Array[],
  place: { readonly system: Pick<System, "sleep"> } | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (place === undefined || size <= JOINED_AT_ONCE) return joinBytes(pieces);
  const bytes = new Uint8Array(size);
  let at = 0;
  let next = JOINED_AT_ONCE;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
    if (at < next) continue;
    next = at + JOINED_AT_ONCE;
    await place.system.sleep(0);
  }
  return bytes;
}
