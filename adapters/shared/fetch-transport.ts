import { TransportError } from "../../core/transport-error.ts";
import type { HeaderPair, InboundResponse, OutboundRequest, Transport } from "../../core/ports.ts";
import { endToEnd, REQUEST_FRAMING } from "./header-pairs.ts";

/** HTTP through the runtime's `fetch`, which decodes bodies: the answer no longer carries an encoding. */
export function fetchTransport(): Transport {
  return {
    async send(request) {
      try {
        const response = await fetch(request.url, toInit(request));
        return await toInbound(response, request);
      } catch (error) {
        throw toTransportError(error, request.signal, "unreachable");
      }
    },
  };
}

function toInit(request: OutboundRequest): RequestInit {
  const { method, body, signal } = request;
  return {
    method,
    // `as`: a typed array over a shared buffer, which fetch refuses at run time, never gets here.
    ...(body == null ? {} : { body: body as BodyInit }),
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    headers: endToEnd(request.headers, REQUEST_FRAMING).map(([name, value]) => [name, value]),
    redirect: "manual",
    ...(signal === undefined ? {} : { signal }),
  };
}

/** Answers up to this many bytes, announced by `content-length`, are handed on whole: cheaper than a stream. */
const WHOLE_BODY_BYTES = 64 * 1024;

async function toInbound(response: Response, request: OutboundRequest): Promise<InboundResponse> {
  const encoded = response.headers.has("content-encoding");
  const pairs: HeaderPair[] = [...response.headers].map(([name, value]) => [name, value]);
  // A HEAD or 304 answer has the length of a body that is not there; nothing was decoded.
  const decoded = encoded && response.body !== null ? ["content-encoding", "content-length"] : [];
  const headers = endToEnd(pairs, decoded);
  if (response.body === null) return { status: response.status, headers, body: null };
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  if (!encoded && length <= WHOLE_BODY_BYTES) {
    const bytes = await response.arrayBuffer().catch((error: unknown) => {
      throw toTransportError(error, request.signal, "broken");
    });
    return { status: response.status, headers, body: new Uint8Array(bytes) };
  }
  return { status: response.status, headers, body: guarded(response.body, request.signal, 1) };
}

/**
 * The same bytes; a body that breaks off, or that the caller's signal ends, ends in `TransportError`.
 * `readAhead` chunks are taken before the consumer asks for them.
 */
export function guarded(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  readAhead: 0 | 1,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(toTransportError(error, signal, "broken"));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  };
  return new ReadableStream<Uint8Array>(source, { highWaterMark: readAhead });
}

/** Names what failed without the URL's query, which may hold a key. */
export function toTransportError(
  error: unknown,
  signal: AbortSignal | undefined,
  otherwise: "unreachable" | "broken",
): TransportError {
  if (error instanceof TransportError) return error;
  if (signal?.aborted === true)
    return new TransportError("aborted", "The request was aborted", { cause: error });
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  const text =
    otherwise === "broken"
      ? "The upstream broke off its answer"
      : "The upstream could not be reached";
  return new TransportError(otherwise, `${text}${code}`, { cause: error });
}
