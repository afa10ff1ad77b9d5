import type { ContentDecoder } from "../../../core/ports.ts";

/** Bytes that workerd is given at a time: packed a thousand times they are eight megabytes. */
const PIECE = 8192;

/** Bytes that one read may bring. A read without a buffer of its own brings 4096, and costs as much. */
const READ = 65_536;

const formats: ReadonlyMap<string, CompressionFormat> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["deflate-raw", "deflate-raw"],
]);

/**
 * Undoes an encoding at the pace of its reader. workerd's `DecompressionStream` unpacks all that is written to it at once,
 * hundreds of megabytes out of a few hundred kilobytes, whether somebody reads or not.
 */
export function piecewiseDecoder(encoding: string): ContentDecoder | null {
  const format = formats.get(encoding);
  if (format === undefined) return null;
  const decoder = new DecompressionStream(format);
  const writer = decoder.writable.getWriter();
  const reader = decoder.readable.getReader({ mode: "byob" });
  let buffer = new ArrayBuffer(READ);
  const asked = gate();
  const readable = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const read = reader.read(new Uint8Array(buffer));
        asked.openUntil(read);
        const { done, value } = await read;
        if (done) return controller.close();
        // Copied: a part would keep the whole buffer, and many small parts are gathered before they are joined.
        controller.enqueue(value.slice());
        buffer = value.buffer;
      },
      async cancel(reason) {
        // A write that waits goes on, and fails.
        asked.openUntil(new Promise(() => undefined));
        await Promise.allSettled([reader.cancel(reason), writer.abort(reason)]);
      },
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream<ArrayBuffer | ArrayBufferView<ArrayBuffer>>({
    async write(chunk) {
      const bytes = ArrayBuffer.isView(chunk)
        ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        : new Uint8Array(chunk);
      for (let at = 0; at < bytes.length; at += PIECE) {
        await asked.passed();
        await writer.write(bytes.subarray(at, at + PIECE));
      }
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
  return { readable, writable };
}

/** Lets a writer pass while a read waits that finds nothing of what was written before. */
function gate(): { openUntil(read: Promise<unknown>): void; passed(): Promise<void> } {
  let current: Promise<unknown> | null = null;
  let opened = Promise.withResolvers<void>();
  return {
    openUntil(read) {
      current = read;
      opened.resolve();
      const shut = (): void => {
        if (current !== read) return;
        current = null;
        opened = Promise.withResolvers();
      };
      read.then(shut, () => undefined);
    },
    async passed() {
      for (;;) {
        await opened.promise;
        const read = current;
        // A read that finds something ends before this does.
        await new Promise((resolve) => setTimeout(resolve, 0));
        if (read !== null && read === current) return;
      }
    },
  };
}
