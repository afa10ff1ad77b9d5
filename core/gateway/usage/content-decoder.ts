import type { ContentDecoder, System } from "../../ports.ts";

/** What the gateway can make of encoded answers on the running runtime. */
export interface ContentDecoding {
  /** Undoes what a `content-encoding` lists, in any case; null when this runtime cannot. */
  decoder(encoding: string): ContentDecoder | null;
  /** The part of an `accept-encoding` whose answers can be read here; empty for none of it. */
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

/** Encodings on top of each other that are undone; nobody needs two. */
const LAYERS = 3;

/** Finds out what this runtime can read. */
export function contentDecoding(system: Pick<System, "decoder">): ContentDecoding {
  const one = (encoding: string): ContentDecoder | null => {
    const format = Object.hasOwn(formats, encoding) ? formats[encoding] : undefined;
    if (format === undefined) return null;
    return system.decoder?.(encoding) ?? nativeDecoder(format);
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

/** Not every runtime knows all formats. */
function nativeDecoder(format: string): ContentDecoder | null {
  try {
    // `as`: the declared formats are those of the standard; runtimes know more.
    return new DecompressionStream(format as CompressionFormat);
  } catch {
    return null;
  }
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
  // A failure reaches the reader; here nobody asks for it.
  first.readable.pipeTo(rest.writable).catch(() => undefined);
  return { readable: rest.readable, writable: first.writable };
}

/**
 * The elements of a list that name a readable encoding, in one order when the client has no preference: answers are
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
