/** Bytes that the streams of one PDF may unpack to, those within others included. */
const UNPACKED = 128 * 1024 * 1024;
/** Bytes that are unpacked between two yields: a few milliseconds of work. */
const STEP = 1024 * 1024;
/** The number of compressions of one stream that are undone. */
const MAX_LAYERS = 4;
const STREAM = new TextEncoder().encode("stream");
const END = new TextEncoder().encode("endstream");

/**
 * Says why the streams of a PDF are too much to be read, such as one that is packed twice and unpacks to gigabytes; null when
 * they are not. The parser itself has no bound. Streams of encrypted documents, or packed by another method, are not looked at,
 * nor those for whose dictionary `passes` returns true because they stay packed.
 */
export async function* streamExcess(
  bytes: Uint8Array<ArrayBuffer>,
  passes: (dictionary: string) => boolean = () => false,
): AsyncGenerator<void, string | null, void> {
  let left = UNPACKED;
  for (let at = indexOf(bytes, STREAM, 0); at >= 0; at = indexOf(bytes, STREAM, at + 1)) {
    const start = at + STREAM.length + (bytes[at + STREAM.length] === CR ? 2 : 1);
    if (!isPacked(bytes, start) || passes(dictionaryBefore(bytes, at))) continue;
    const end = indexOf(bytes, END, start);
    const packed = bytes.subarray(start, end < 0 ? bytes.length : withoutLineEnd(bytes, end));
    left -= yield* unpackedBytes(packed, left);
    if (left < 0) return `it unpacks to more than ${UNPACKED / 1024 / 1024} MB`;
    at = start;
  }
  return null;
}

/** Characters of a dictionary that are looked at. */
const DICTIONARY = 2000;

/** The text of the dictionary that stands before a stream. */
function dictionaryBefore(bytes: Uint8Array, at: number): string {
  const text = new TextDecoder("latin1").decode(bytes.subarray(Math.max(0, at - DICTIONARY), at));
  const begin = Math.max(text.lastIndexOf("endobj"), text.lastIndexOf("endstream"));
  return text.slice(Math.max(begin, 0));
}

const CR = 13;
const LF = 10;

/** The end of the data before a keyword: some runtimes return nothing of a compressed stream with bytes behind it. */
function withoutLineEnd(bytes: Uint8Array, end: number): number {
  const before = bytes[end - 1] === LF ? end - 1 : end;
  return bytes[before - 1] === CR ? before - 1 : before;
}

/** Whether a zlib stream begins here (RFC 1950, section 2.2). */
function isPacked(bytes: Uint8Array, at: number): boolean {
  const method = bytes[at] ?? 0;
  return (method & 15) === 8 && ((method << 8) | (bytes[at + 1] ?? 0)) % 31 === 0;
}

/** Counts the bytes that a stream unpacks to, and that those unpack to in turn; stops at `most`. */
async function* unpackedBytes(
  packed: Uint8Array<ArrayBuffer>,
  most: number,
): AsyncGenerator<void, number, void> {
  let count = 0;
  let next = STEP;
  for (let layers = 1; layers <= MAX_LAYERS; layers++) {
    const reader = unpacked(packed, layers).getReader();
    let isPackedAgain: boolean | null = null;
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        isPackedAgain ??= isPacked(part.value, 0);
        count += part.value.length;
        if (count > most) return count;
        if (count < next) continue;
        next = count + STEP;
        yield;
      }
    } finally {
      await reader.cancel();
    }
    if (isPackedAgain !== true) break;
  }
  return count;
}

/** Unpacks so many times, from the beginning: nothing of it is kept. */
function unpacked(
  packed: Uint8Array<ArrayBuffer>,
  layers: number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let stream = inPieces(packed);
  for (let layer = 0; layer < layers; layer++)
    stream = untilFailure(stream.pipeThrough(new DecompressionStream("deflate")));
  return stream;
}

/** Small pieces of compressed data: some runtimes return nothing of the piece that holds bytes behind its end. */
function inPieces(packed: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const size = packed.length < 65_536 ? 64 : 4096;
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= packed.length) return controller.close();
      controller.enqueue(packed.slice(at, at + size));
      at += size;
    },
  });
}

/** A stream that ends where another fails: what came before still counts, and is unpacked again. */
function untilFailure(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      const part = await reader.read().catch(() => ({ done: true }) as const);
      if (part.done) controller.close();
      else controller.enqueue(part.value);
    },
    cancel: () => reader.cancel().catch(() => undefined),
  });
}

/** The index of some bytes at or after a position; -1 when they are missing. */
function indexOf(bytes: Uint8Array, wanted: Uint8Array, from: number): number {
  const [first = 0] = wanted;
  for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1))
    if (wanted.every((code, n) => bytes[at + n] === code)) return at;
  return -1;
}
