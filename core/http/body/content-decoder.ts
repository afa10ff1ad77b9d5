import { ownMember } from "../json.ts";
import type { ContentDecoder, System } from "../../ports.ts";
import { pulledStream } from "../stream.ts";

/** The encodings that the gateway can read on the running runtime. */
export interface ContentDecoding {
  /** Undoes what a `content-encoding` lists, in any case; null when this runtime cannot. */
  decoder(encoding: string): ContentDecoder | null;
  /** Returns the part of an `accept-encoding` whose answers can be read here; empty if nothing of it can. */
  readable(accepted: string): string;
}

/** Content encodings (RFC 9110 section 8.4.1, RFC 7932, RFC 8878) and what `DecompressionStream` calls them. */
const formats: Readonly<Record<string, string>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
  zstd: "zstd",
};

/** The most encodings on top of each other that are undone; more are never useful. */
const LAYERS = 3;

/** Finds out what this runtime can read. */
export function contentDecoding(system: Pick<System, "decoder">): ContentDecoding {
  const undo = (encoding: string, format: string): ContentDecoder | null =>
    system.decoder?.(encoding) ?? nativeDecoder(format);
  const one = (encoding: string): ContentDecoder | null => {
    const format = ownMember(formats, encoding);
    if (format === undefined) return null;
    return format === "deflate" ? deflate((name) => undo(name, name)) : undo(encoding, format);
  };
  let known: ReadonlySet<string> | undefined;
  const isReadable = (encoding: string): boolean => {
    known ??= new Set(Object.keys(formats).filter((name) => one(name) !== null));
    return encoding === "identity" || known.has(encoding);
  };
  // Clients say the same in every request.
  let last = { accepted: "", readable: "" };
  return {
    decoder(encoding) {
      const layers = encoding.toLowerCase().split(",", LAYERS + 1);
      if (layers.length > LAYERS) return null;
      return stacked(layers.map((layer) => layer.trim()).toReversed(), one);
    },
    readable(accepted) {
      if (last.accepted !== accepted) last = { accepted, readable: only(accepted, isReadable) };
      return last.readable;
    },
  };
}

/** The bytes of a stream without their encoding; a reader that leaves cancels the source (workerd's own pipe would not). */
export function decodedStream(
  source: ReadableStream<Uint8Array>,
  { readable, writable }: ContentDecoder,
): ReadableStream<Uint8Array> {
  const left = new AbortController();
  // `as`: a stream of bytes gives out nothing that a decoder does not take. Its failures come to the reader.
  const sink = writable as WritableStream<Uint8Array>;
  source.pipeTo(sink, { signal: left.signal }).catch(() => undefined);
  const reader = readable.getReader();
  return pulledStream(
    () => reader.read(),
    async (reason) => left.abort(reason),
  );
}

/** Not every runtime knows all formats. */
function nativeDecoder(format: string): ContentDecoder | null {
  try {
    // `as`: the declared formats are those of the standard; runtimes know more.
    return new DecompressionStream(format as CompressionFormat);
  } catch {
    return null;
  }
}

/** Undoes `deflate`, also as some servers send it: without the wrapper that it means (RFC 9110, section 8.4.1.2). */
function deflate(undo: (format: string) => ContentDecoder | null): ContentDecoder | null {
  if (nativeDecoder("deflate-raw") === null) return nativeDecoder("deflate");
  const chosen = Promise.withResolvers<ContentDecoder | null>();
  let writer: WritableStreamDefaultWriter<BufferSource> | undefined;
  let reader: Promise<ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined> | undefined;
  const choose = (bytes: Uint8Array): WritableStreamDefaultWriter<BufferSource> | undefined => {
    const decoder = undo(isWrapped(bytes) ? "deflate" : "deflate-raw");
    chosen.resolve(decoder);
    return decoder?.writable.getWriter();
  };
  const writable = new WritableStream<BufferSource>({
    write(chunk) {
      const bytes = ArrayBuffer.isView(chunk)
        ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        : new Uint8Array(chunk);
      if (bytes.length === 0) return undefined;
      writer ??= choose(bytes);
      return writer?.write(chunk);
    },
    close() {
      chosen.resolve(null);
      return writer?.close();
    },
    async abort(reason) {
      chosen.resolve(null);
      await writer?.abort(reason);
    },
  });
  const readable = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        reader ??= chosen.promise.then((decoder) => decoder?.readable.getReader());
        const next = await (await reader)?.read();
        if (next === undefined || next.done) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel(reason) {
        chosen.resolve(null);
        await (await reader)?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return { readable, writable };
}

/** Whether bytes begin with the header of zlib (RFC 1950); no encoder begins raw data so (RFC 1951, section 3.2.3). */
function isWrapped([first = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && first >> 4 <= 7;
}

/** One decoder for several layers, the outermost first. */
function stacked(
  layers: readonly string[],
  one: (encoding: string) => ContentDecoder | null,
): ContentDecoder | null {
  const [outer = "", ...inner] = layers;
  const first = one(outer);
  if (first === null || inner.length === 0) return first;
  const rest = stacked(inner, one);
  if (rest === null) return null;
  // The reader gets the failure; this promise has no other user.
  first.readable.pipeTo(rest.writable).catch(() => undefined);
  return { readable: rest.readable, writable: first.writable };
}

/**
 * Returns the elements of a list that name a readable encoding, in one order when the client has no preference: answers are
 * cached by this header.
 */
function only(accepted: string, isReadable: (encoding: string) => boolean): string {
  const parts = accepted
    .split(",")
    .map((part) => part.trim())
    .filter((part) => isReadable(part.split(";", 1)[0]?.trim().toLowerCase() ?? ""));
  if (!accepted.includes(";")) parts.sort();
  return parts.join(", ");
}
