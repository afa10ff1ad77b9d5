import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { piecewiseDecoder } from "../../../adapters/workers/env/piecewise-decoder.ts";

const Native = DecompressionStream;

/** Gives other runtimes' decompressor what workerd's has: a reader may bring a buffer of its own. */
class ByteDecompression {
  readonly writable: WritableStream<BufferSource>;
  readonly readable: ReadableStream<Uint8Array>;
  constructor(format: CompressionFormat) {
    const { readable, writable } = new Native(format);
    const reader = readable.getReader();
    this.writable = writable;
    this.readable = new ReadableStream({
      type: "bytes",
      async pull(out) {
        const { done, value } = await reader.read();
        if (!done) return out.enqueue(value);
        out.close();
        out.byobRequest?.respond(0);
      },
    });
  }
}

beforeEach(() => {
  if (navigator.userAgent !== "Cloudflare-Workers")
    vi.stubGlobal("DecompressionStream", ByteDecompression);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Takes all at once, as workerd's `DecompressionStream` does, whether somebody reads or not; nothing is packed. */
function eager(pieces: number[]): new () => unknown {
  return class {
    #out: ReadableByteStreamController | undefined;
    readonly readable = new ReadableStream({
      type: "bytes",
      start: (out) => {
        this.#out = out;
      },
    });
    readonly writable = new WritableStream<Uint8Array>({
      write: (piece) => {
        pieces.push(piece.length);
        this.#out?.enqueue(piece.slice());
      },
    });
  };
}

it("a runtime that unpacks all at once is given small pieces, each after the last one was read", async () => {
  const pieces: number[] = [];
  vi.stubGlobal("DecompressionStream", eager(pieces));
  const decoder = piecewiseDecoder("gzip");
  decoder?.writable
    .getWriter()
    .write(new Uint8Array(20_000))
    .catch(() => undefined);
  const reader = decoder?.readable.getReader();
  for (const taken of [[8192], [8192, 8192], [8192, 8192, 3616]]) {
    await reader?.read();
    for (let turn = 0; turn < 20; turn++) await new Promise((go) => setTimeout(go, 0));
    expect(pieces).toEqual(taken);
  }
});

it.each([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["deflate-raw", "deflate-raw"],
] as const)("%s is undone", async (encoding, format) => {
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream(format));
  const body = new Uint8Array(await new Response(stream).arrayBuffer());
  const decoder = piecewiseDecoder(encoding);
  if (decoder === null) throw new Error("No decoder");
  const unpacked = new Response(decoder.readable).arrayBuffer();
  const writer = decoder.writable.getWriter();
  await writer.write(body);
  await writer.close();
  expect(new Uint8Array(await unpacked)).toEqual(bytes);
});

it("small parts do not keep the buffer that they were read into", async () => {
  vi.stubGlobal("DecompressionStream", eager([]));
  const decoder = piecewiseDecoder("gzip");
  const writer = decoder?.writable.getWriter();
  const reader = decoder?.readable.getReader();
  for (const size of [10, 20, 30]) {
    writer?.write(new Uint8Array(size)).catch(() => undefined);
    const { value } = (await reader?.read()) ?? {};
    expect([value?.length, value?.buffer.byteLength]).toEqual([size, size]);
  }
});

it("a reader that leaves ends a write that waits for it", async () => {
  vi.stubGlobal("DecompressionStream", eager([]));
  const decoder = piecewiseDecoder("gzip");
  const written = decoder?.writable.getWriter().write(new Uint8Array(20_000));
  const refused = expect(written).rejects.toThrow("left");
  const reader = decoder?.readable.getReader();
  await reader?.read();
  await reader?.cancel(new Error("left"));
  await refused;
});

it("what is not packed fails, and an encoding that workerd lacks has no decoder", async () => {
  const decoder = piecewiseDecoder("gzip");
  const writer = decoder?.writable.getWriter();
  writer?.write(new Uint8Array(100)).catch(() => undefined);
  await expect(decoder?.readable.getReader().read()).rejects.toThrow();
  expect(piecewiseDecoder("br")).toBeNull();
});
