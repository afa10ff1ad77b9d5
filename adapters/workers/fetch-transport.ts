import type { HeaderPair, InboundResponse, OutboundRequest, Transport } from "../../core/ports.ts";
import { beginDeadlines } from "../shared/begin-deadline.ts";
import { type BeginLink, beginLink } from "../shared/begin-link.ts";
import { guarded, watchGuarded } from "../shared/http/guarded-body.ts";
import { endToEnd, REQUEST_FRAMING } from "../shared/http/header-pairs.ts";
import { toTransportError } from "../shared/http/to-transport-error.ts";

/** How a request leaves the isolate. */
export type Send = (request: Request) => Promise<Response>;

/** Encodings that workerd undoes before it hands over a body, as it spells them; it passes others on as they are. */
const DECODED: ReadonlySet<string> = new Set(["gzip", "br"]);

/** A transport over `fetch` (or a service binding): redirects are never followed. */
export function fetchTransport(send: Send = (request) => fetch(request)): Transport {
  // None share a timer: it belongs to the request that made it, and workerd lets it touch no other.
  const deadlines = beginDeadlines({ durations: 0 });
  return {
    async send(request) {
      const link = beginLink(request, deadlines);
      try {
        request.signal?.throwIfAborted();
        const response = await send(toRequest(request, link));
        link.begun();
        return toInbound(response, request);
      } catch (error) {
        link.over();
        throw toTransportError(error, link.signal, "unreachable");
      }
    },
    watch: watchGuarded,
  };
}

/**
 * The signal is never that of the incoming request itself: workerd does not end a subrequest by it while `waitUntil`
 * keeps that request's context alive.
 */
function toRequest(
  { method, url, headers }: OutboundRequest,
  { body, signal }: BeginLink,
): Request {
  const length = headers.find(([name]) => name === "content-length")?.[1];
  return new Request(url, {
    method,
    headers: endToEnd(headers, REQUEST_FRAMING).map(([name, value]) => [name, value]),
    redirect: "manual",
    ...(body === null ? {} : { body: framed(body, length) }),
    signal,
  });
}

/** Keeps a stream's announced length: workerd chunks every stream whose length it cannot know. */
function framed(
  body: Uint8Array | ReadableStream<Uint8Array>,
  length: string | undefined,
): BodyInit {
  // workerd has no shared memory, so the bytes lie in an ordinary buffer.
  if (body instanceof Uint8Array) return body as Uint8Array<ArrayBuffer>;
  if (length === undefined || !/^\d{1,15}$/u.test(length)) return body;
  return body.pipeThrough(new FixedLengthStream(Number(length)));
}

/** The headers that no longer hold for a body that workerd has decoded. */
export function decodedHeaders({ headers }: Response): readonly string[] {
  const encoding = headers.get("content-encoding") ?? "";
  return DECODED.has(encoding) ? ["content-encoding", "content-length"] : [];
}

function toInbound(response: Response, { method, signal }: OutboundRequest): InboundResponse {
  const body = method === "HEAD" ? null : response.body;
  const pairs: HeaderPair[] = [...response.headers].map(([name, value]) => [name, value]);
  return {
    status: response.status,
    headers: endToEnd(pairs, body === null ? [] : decodedHeaders(response)),
    body: body === null ? null : guarded(body, signal),
  };
}
