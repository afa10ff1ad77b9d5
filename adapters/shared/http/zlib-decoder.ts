import type { Transform } from "node:stream";
import zlib from "node:zlib";
import type { System } from "../../../core/ports.ts";
import { denoGlobal } from "../work/deno-global.ts";

/** Binary logarithm of the bytes that a zstd frame may have a reader keep (RFC 9659 section 3). */
const ZSTD_WINDOW_LOG = 23;

type Decoder = NonNullable<ReturnType<NonNullable<System["decoder"]>>>;

/** Makers of what undoes an encoding in pieces: Deno's `DecompressionStream` unpacks a whole chunk at once, into gigabytes. */
const onDeno: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", () => zlib.createGunzip()],
  ["x-gzip", () => zlib.createGunzip()],
  ["deflate", () => zlib.createInflate()],
  ["deflate-raw", () => zlib.createInflateRaw()],
]);

/** Undoes `br` and `zstd`, which the `DecompressionStream` of Node 22 and of Deno does not know, and on Deno the others. */
export function zlibDecoder(encoding: string): Decoder | null {
  const inPieces = denoGlobal() === null ? undefined : onDeno.get(encoding);
  if (inPieces !== undefined) return pairOf(inPieces());
  if (encoding === "br") return pairOf(zlib.createBrotliDecompress());
  // Younger than the rest of the module.
  if (encoding !== "zstd" || !("createZstdDecompress" in zlib)) return null;
  const params = { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG };
  return pairOf(zlib.createZstdDecompress({ params }));
}

/** Returns the two ends as web streams; a reader that waits holds the writer up, however much a few bytes unpack to. */
function pairOf(decoder: Transform): Decoder {
  // The next read or write reports the error.
  decoder.on("error", () => undefined);
  const unpacked: AsyncIterator<Uint8Array> = decoder[Symbol.asyncIterator]();
  const readable = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const { done, value } = await unpacked.next();
        if (done === true) controller.close();
        else controller.enqueue(new Uint8Array(value));
      },
      cancel() {
        decoder.destroy();
      },
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream<BufferSource>({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        decoder.write(chunk, (error) => {
          if (error == null) resolve();
          else reject(error);
        });
      }),
    close() {
      decoder.end();
    },
    abort() {
      decoder.destroy();
    },
  });
  return { readable, writable };
}
