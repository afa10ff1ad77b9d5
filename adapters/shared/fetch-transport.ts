import type { HeaderPair, InboundResponse, OutboundRequest, Transport } from "../../core/ports.ts";
import { guarded, watchGuarded } from "./guarded-body.ts";
import { endToEnd, REQUEST_FRAMING } from "./header-pairs.ts";
import { toTransportError } from "./to-transport-error.ts";

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
    watch: watchGuarded,
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
  return { status: response.status, headers, body: guarded(response.body, request.signal) };
}
