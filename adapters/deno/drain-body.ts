import { pulledStream } from "../../core/http/stream.ts";

/** Bytes of a body that ends soon, whatever is done with it. */
const SHORT = 1024 * 1024;

/** The rest of a refused body that is read and dropped: bytes, and ms. */
export interface DrainBounds {
  readonly bytes: number;
  readonly ms: number;
}

const BOUNDS: DrainBounds = { bytes: 128 * 1024 * 1024, ms: 10_000 };

/**
 * Returns the request with a body that is not read to its end once it is cancelled. `Deno.serve` reads a cancelled body on for as
 * long as the client sends (5.2 GB of an endless one in 6 s, Deno 2.9.6). Without a reader the body holds its client up instead, and
 * its connection is closed once the garbage collector has taken it.
 */
export function withBoundedDrain(request: Request): Request {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) <= SHORT) return request;
  if (request.body === null) return request;
  const body = drainedStream(request.body, BOUNDS);
  // `as`: the declared type has no `duplex`, which a streamed body needs.
  return new Request(request, { body, duplex: "half" } as RequestInit);
}

/**
 * Returns the same bytes. Once cancelled, reads the source on within bounds, so that a client which sends to the end before it
 * reads gets the answer; the source itself is never cancelled.
 */
export function drainedStream(
  source: ReadableStream<Uint8Array>,
  bounds: DrainBounds,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return pulledStream(
    () => reader.read(),
    async () => void drain(reader, bounds),
  );
}

async function drain(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { bytes, ms }: DrainBounds,
): Promise<void> {
  const until = performance.now() + ms;
  let read = 0;
  try {
    while (read < bytes && performance.now() < until) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.length;
    }
  } catch {
    // The client has gone.
  }
}
