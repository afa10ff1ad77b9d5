import { contentDecoding } from "../../http/body/content-decoder.ts";
import { ApiError } from "../../http/api-error.ts";
import { readUpTo } from "../../http/stream.ts";
import type { System } from "../../ports.ts";

/**
 * The body without its `content-encoding`. Throws 413 if it is larger than `limit`, 400 for an encoding that the runtime
 * cannot read or bytes that are malformed.
 */
export async function decodedBody(
  body: Uint8Array,
  { encoding, limit }: { readonly encoding: string; readonly limit: number },
  system: Pick<System, "decoder">,
): Promise<Uint8Array> {
  const decoder = contentDecoding(system).decoder(encoding);
  if (decoder === null) throw unreadable(`cannot be read here: "${encoding.slice(0, 64)}"`);
  const stream = inSteps(body).pipeThrough(decoder);
  const bytes = await readUpTo(stream, limit).catch((cause: unknown) => {
    throw unreadable("does not fit its bytes", cause);
  });
  if (bytes !== null) return bytes;
  throw new ApiError("too_large", { message: `The decoded body is over ${limit} bytes` });
}

/** Bytes that the decoder is given at once. A `Blob` on workerd would give it 4096 at a time. */
const STEP = 65_536;

function inSteps(body: Uint8Array): ReadableStream<Uint8Array<ArrayBuffer>> {
  // A copy: the bytes may lie in a buffer that the server uses again.
  const bytes = new Uint8Array(body);
  let at = 0;
  return new ReadableStream(
    {
      pull(out) {
        if (at < bytes.length) out.enqueue(bytes.subarray(at, at + STEP));
        at += STEP;
        if (at >= bytes.length) out.close();
      },
    },
    { highWaterMark: 0 },
  );
}

function unreadable(why: string, cause?: unknown): ApiError {
  const message = `The content-encoding of the body ${why}`;
  return new ApiError("payload_invalid", { message, cause });
}
