/** Content encodings and what `DecompressionStream` calls them; not every runtime knows all of them. */
const formats: Readonly<Record<string, string>> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  deflate: "deflate",
  br: "brotli",
  zstd: "zstd",
};

/** Undoes one content encoding (in lower case); null when this runtime cannot. */
export function contentDecoder(
  encoding: string,
): ReadableWritablePair<Uint8Array<ArrayBuffer>, BufferSource> | null {
  const format = Object.hasOwn(formats, encoding) ? formats[encoding] : undefined;
  if (format === undefined) return null;
  try {
    // `as`: the declared formats are those of the standard; runtimes know more.
    return new DecompressionStream(format as CompressionFormat);
  } catch {
    return null;
  }
}
