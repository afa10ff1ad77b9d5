import { ApiError } from "../http/api-error.ts";
import type { HeaderPair, ReceivedRequest } from "../ports.ts";
import type { Step } from "./call.ts";
import { headerValue } from "./header-hygiene.ts";

/** Bytes of a JSON body that are read into memory, once; larger ones stream through. */
const JSON_LIMIT = 10 * 1024 * 1024;
/** Bytes of any other body of known length that are read into memory, so that it can be sent again. */
const OTHER_LIMIT = 1024 * 1024;

/** A request's body: bytes when it is small, else a stream that the provider pulls at its own pace. */
export function requestBody(
  request: Request,
  headers: readonly HeaderPair[],
  received: ReceivedRequest | null,
): Promise<Step["body"]> | Step["body"] {
  if (request.method === "GET" || request.method === "HEAD") return null;
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(
    headerValue(headers, "content-type") ?? "",
  );
  const declared = headerValue(headers, "content-length");
  const length = declared === null ? Number.NaN : Number(declared);
  const limit = isJson ? JSON_LIMIT : OTHER_LIMIT;
  // Read at once: a stream costs more than all the rest of a small request.
  if (length <= limit) {
    if (received !== null) return received.bytes().catch(brokenOff);
    return request.arrayBuffer().then((bytes) => new Uint8Array(bytes), brokenOff);
  }
  if (request.body === null) return null;
  return isJson && Number.isNaN(length) ? readOrPass(request.body, limit) : request.body;
}

function brokenOff(cause: unknown): never {
  throw new ApiError("invalid_request", { message: "The request body broke off", cause });
}

/** Reads up to `limit` bytes; when there are more, what was read goes in front of the rest. */
async function readOrPass(
  body: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size <= limit) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return chunks.length === 1 ? (chunks[0] ?? new Uint8Array(0)) : joined(chunks, size);
    chunks.push(value);
    size += value.length;
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = chunks.shift();
        if (next !== undefined) return controller.enqueue(next);
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const out = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}
