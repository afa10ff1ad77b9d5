import type { HeaderPair, InboundResponse, OutboundRequest, Transport } from "../../core/ports.ts";
import { type BeginDeadlines, beginDeadlines } from "../shared/work/begin-deadline.ts";
import { type BeginLink, beginLink } from "../shared/work/begin-link.ts";
import { directTransport } from "../shared/egress/egress-transport.ts";
import {
  environmentProxy,
  environmentProxyFor,
  isLoopback,
} from "../shared/http/environment-proxy.ts";
import { silenceLimit, SilentAnswer } from "../shared/http/answer-silence.ts";
import { guardedBody, watchGuarded } from "../shared/http/guarded-body.ts";
import { endToEnd, REQUEST_FRAMING } from "../shared/http/header-pairs.ts";
import { keptOrigins } from "../shared/http/kept-origins.ts";
import { throughProxy, toTransportError } from "../shared/http/to-transport-error.ts";
import { networkFailureOf } from "../../core/net/network-failure.ts";

/** HTTP through Bun's `fetch`: raw bytes and true headers, as on Node and Deno. */
export function bunTransport(): Transport {
  const fetching = byFetch();
  if (environmentProxy() === undefined) return fetching;
  // Bun asks the proxy for loopback too, and takes no word per request against it.
  const direct = directTransport();
  return {
    ...fetching,
    send: (request) => (isLoopback(request.url) ? direct : fetching).send(request),
  };
}

function byFetch(): Transport {
  const deadlines = beginDeadlines();
  const kept = keptOrigins();
  const proxyFor = environmentProxyFor();
  return {
    async send(request) {
      const link = beginLink(request, deadlines);
      const { url } = request;
      try {
        const init = toInit(request, link);
        const response = await fetch(url, init).catch((error: unknown) => {
          if (!metIdleClose(error, link) || !kept.has(url)) throw error;
          // Bun repeats requests without effect by itself; this one on a connection of its own.
          return fetch(url, { ...init, keepalive: false });
        });
        link.answerBegan();
        kept.answered(url);
        const answer = await toInbound(response, request, link, deadlines);
        if (!(answer.body instanceof ReadableStream)) link.over();
        return answer;
      } catch (error) {
        link.over();
        const failure = toTransportError(error, link.signal, "unreachable");
        throw proxyFor(url) === null ? failure : throughProxy(failure);
      }
    },
    watch: watchGuarded,
  };
}

/** Whether a kept connection may have ended while a request that can be sent again was on its way. */
function metIdleClose(error: unknown, { body, signal }: BeginLink): boolean {
  if (signal.aborted || body instanceof ReadableStream) return false;
  return networkFailureOf(error) === "reset";
}

/** Bun's types do not know it: `false` lets a model be silent for longer than five minutes. */
type PatientInit = BunFetchRequestInit & { timeout: false };

function toInit(request: OutboundRequest, { body, signal }: BeginLink): PatientInit {
  const { method } = request;
  return {
    method,
    // `as`: a typed array over a shared buffer, which fetch refuses at run time, never gets here.
    ...(body === null ? {} : { body: body as BodyInit }),
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    headers: endToEnd(request.headers, REQUEST_FRAMING).map(([name, value]) => [name, value]),
    redirect: "manual",
    // Bun decodes some encodings and not others ("gzip, br"), and its request headers do not name them either.
    decompress: false,
    timeout: false,
    signal,
  };
}

/** Answers up to this many bytes, announced by `content-length`, are handed on whole: cheaper than a stream. */
const WHOLE_BODY_BYTES = 64 * 1024;

async function toInbound(
  response: Response,
  { signal, silence }: OutboundRequest,
  link: BeginLink,
  deadlines: BeginDeadlines,
): Promise<InboundResponse> {
  const pairs: HeaderPair[] = [...response.headers].map(([name, value]) => [name, value]);
  const headers = endToEnd(pairs);
  const limit = silenceLimit(silence, headers);
  if (response.body === null) return { status: response.status, headers, body: null };
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  if (length <= WHOLE_BODY_BYTES) {
    const deadline = deadlines.start(limit.ms, () => link.end(new SilentAnswer()));
    const bytes = await response
      .arrayBuffer()
      .catch((error: unknown) => {
        throw toTransportError(error, link.signal, "broken");
      })
      .finally(() => deadlines.stop(deadline));
    return { status: response.status, headers, body: new Uint8Array(bytes) };
  }
  return { status: response.status, headers, body: guardedBody(response.body, signal, limit) };
}
