import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  Transport,
} from "../../../core/ports.ts";
import { networkFailureOf } from "../../../core/net/network-failure.ts";
import { beginDeadlines } from "../work/begin-deadline.ts";
import { type BeginLink, beginLink } from "../work/begin-link.ts";
import { silenceLimit } from "./answer-silence.ts";
import { guardedBody, watchGuarded } from "./guarded-body.ts";
import { endToEnd, REQUEST_FRAMING } from "./header-pairs.ts";
import { keptOrigins } from "./kept-origins.ts";
import { toTransportError } from "./to-transport-error.ts";

/** How a request leaves. */
export type Send = (request: Request) => Promise<Response>;

/** The properties of a `fetch` that {@link fetchTransport} needs. */
export interface FetchTransportOptions {
  readonly send: Send;
  /** Whether `send` has undone the encoding that a `content-encoding` header names. */
  readonly decodes: (encoding: string) => boolean;
  /** Gives a body that streams its announced length. @default it goes without one */
  readonly framed?: (body: ReadableStream<Uint8Array>, length: number) => ReadableStream;
  /**
   * Whether an error says that the connection ended: a request that may have met the end of a kept one is sent once more.
   * @default by its class, `reset`
   */
  readonly isLost?: (error: unknown) => boolean;
}

/** Makes a transport over what takes and gives standard requests and responses: redirects are never followed. */
export function fetchTransport(options: FetchTransportOptions): Transport {
  // None share a timer: some runtimes let a timer of one request touch no other (workerd).
  const deadlines = beginDeadlines({ durations: 0 });
  const kept = keptOrigins();
  const { isLost = (error: unknown) => networkFailureOf(error) === "reset" } = options;
  const mayRepeat = (error: unknown, { body, signal }: BeginLink): boolean =>
    !signal.aborted && !(body instanceof ReadableStream) && isLost(error);
  return {
    async send(request) {
      const link = beginLink(request, deadlines);
      try {
        request.signal?.throwIfAborted();
        const response = await options
          .send(toRequest(request, link, options))
          .catch(async (error: unknown) => {
            if (!mayRepeat(error, link) || !kept.has(request.url)) throw error;
            // The connection is still being taken down.
            await new Promise((resolve) => setTimeout(resolve));
            return options.send(toRequest(request, link, options));
          });
        link.answerBegan();
        kept.answered(request.url);
        return toInbound(response, request, options);
      } catch (error) {
        link.over();
        throw toTransportError(error, link.signal, "unreachable");
      }
    },
    watch: watchGuarded,
  };
}

/** `duplex` is what a body that streams needs (Fetch standard); the types do not know it. */
type StreamingInit = RequestInit & { duplex?: "half" };

/**
 * The signal is never that of the incoming request itself: workerd does not end a subrequest by it while `waitUntil`
 * keeps that request's context alive.
 */
function toRequest(
  { method, url, headers }: OutboundRequest,
  { body, signal }: BeginLink,
  options: FetchTransportOptions,
): Request {
  const length = headers.find(([name]) => name === "content-length")?.[1];
  const init: StreamingInit = {
    method,
    headers: endToEnd(headers, REQUEST_FRAMING).map(([name, value]) => [name, value]),
    redirect: "manual",
    signal,
  };
  // `as`: a typed array over a shared buffer, which fetch refuses at run time, never gets here.
  if (body instanceof Uint8Array) init.body = body as Uint8Array<ArrayBuffer>;
  else if (body !== null) {
    const isKnown = length !== undefined && /^\d{1,15}$/u.test(length);
    init.body = isKnown ? (options.framed?.(body, Number(length)) ?? body) : body;
    init.duplex = "half";
  }
  const request = new Request(url, init);
  keepWith(signal, request);
  return request;
}

/**
 * Keeps a request as long as its signal may abort: Node's `fetch` ends by the signal of the request that it was given, which
 * holds on to the caller's only as long as that request is not collected. Then a deadline ended nothing.
 */
function keepWith(signal: AbortSignal, request: Request): void {
  signal.addEventListener("abort", () => void request, { once: true });
}

/** Returns the headers that no longer hold for a body that was decoded on its way. */
export function decodedHeaders(
  { headers }: Response,
  decodes: FetchTransportOptions["decodes"],
): readonly string[] {
  const encoding = headers.get("content-encoding");
  return encoding !== null && decodes(encoding) ? ["content-encoding", "content-length"] : [];
}

function toInbound(
  response: Response,
  { method, signal, silence }: OutboundRequest,
  { decodes }: FetchTransportOptions,
): InboundResponse {
  const body = method === "HEAD" ? null : response.body;
  const pairs: HeaderPair[] = [...response.headers].map(([name, value]) => [name, value]);
  const headers = endToEnd(pairs, body === null ? [] : decodedHeaders(response, decodes));
  return {
    status: response.status,
    headers,
    body: body === null ? null : guardedBody(body, signal, silenceLimit(silence, headers)),
  };
}
