import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import { checkUrl, reasonOf } from "../../../core/net/check-url.ts";
import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  Transport,
} from "../../../core/ports.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import { beginDeadlines, lateAnswer } from "../work/begin-deadline.ts";
import { resolveChecked, type Resolve } from "./egress-resolve.ts";
import { failSoon, type SilenceLimit, silenceLimit, SilentAnswer } from "../http/answer-silence.ts";
import { endToEnd, REQUEST_FRAMING } from "../http/header-pairs.ts";
import { type Lookup, pinnedLookup } from "./pinned-lookup.ts";

export interface EgressTransportOptions {
  /** Hosts that are let through although they are not public, see `parseAllowHosts`. @default [] */
  readonly allowHosts?: readonly string[];
  /** @default DNS; the system's resolver for the names of the allow list */
  readonly resolve?: Resolve;
}

/**
 * Makes a transport to addresses that a caller can steer. The name is resolved once, every address is checked, and the
 * connection goes to a checked address: DNS that changes its answer in between makes no difference. Redirects are never
 * followed. Works on Node, Deno and Bun, whose `fetch` cannot pin an address.
 */
export function egressTransport(options: EgressTransportOptions = {}): Transport {
  const allow = parseAllowHosts(options.allowHosts);
  return {
    refusal: (url) => reasonOf(checkUrl(url, allow)),
    async send(request) {
      const verdict = checkUrl(request.url, allow);
      if (!verdict.ok) throw new TransportError("refused", verdict.reason);
      throwIfAborted(request.signal);
      const { host, port } = verdict;
      const addresses = await unlessEnded(
        resolveChecked(host, port, { allow, resolve: options.resolve }),
        request,
      );
      return exchange(request, verdict.url, pinnedLookup(addresses));
    },
  };
}

/** Makes a transport to what the URL names and to nothing in between, whatever the environment says of proxies. */
export function directTransport(): Transport {
  return {
    async send(request) {
      throwIfAborted(request.signal);
      const headers = endToEnd(request.headers, REQUEST_FRAMING);
      const { body } = request;
      if (body instanceof Uint8Array) headers.push(["content-length", `${body.byteLength}`]);
      const answer = await exchange({ ...request, headers }, new URL(request.url));
      return { ...answer, headers: endToEnd(answer.headers) };
    },
  };
}

const deadlines = beginDeadlines();

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new TransportError("aborted", "The request was aborted");
}

/** Returns the result of some work, unless the request's signal or deadline ends the wait for it. */
function unlessEnded<T>(work: Promise<T>, { signal, beginMs }: OutboundRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new TransportError("aborted", "The request was aborted"));
    const deadline =
      beginMs === undefined
        ? undefined
        : deadlines.start(beginMs, () => reject(lateAnswer(beginMs)));
    signal?.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal?.removeEventListener("abort", abort);
      if (deadline !== undefined) deadlines.stop(deadline);
    });
  });
}

function exchange(request: OutboundRequest, url: URL, lookup?: Lookup): Promise<InboundResponse> {
  return new Promise((resolve, reject) => {
    const { signal, beginMs } = request;
    const client = open(request, url, lookup);
    const end = (error: TransportError): void => {
      client.destroy(error);
      reject(error);
    };
    const abort = (): void => end(new TransportError("aborted", "The request was aborted"));
    const deadline =
      beginMs === undefined ? undefined : deadlines.start(beginMs, () => end(lateAnswer(beginMs)));
    const begun = (): void => {
      if (deadline !== undefined) deadlines.stop(deadline);
    };
    const passed = (): void => {
      if (deadline !== undefined) deadlines.restart(deadline);
    };
    const settle = (): void => {
      signal?.removeEventListener("abort", abort);
      begun();
    };
    signal?.addEventListener("abort", abort, { once: true });
    client.on("error", (error) => {
      settle();
      reject(asTransportError(error));
    });
    client.on("response", (message: IncomingMessage) => {
      begun();
      message.once("close", settle);
      const headers = headerPairs(message.rawHeaders);
      const limit = silenceLimit(request.silence, headers);
      const silent = new AbortController();
      client.setTimeout(limit.ms, () => {
        silent.abort();
        client.destroy(new SilentAnswer());
      });
      const { statusCode: status = 0 } = message;
      const hasBody = request.method !== "HEAD" && status !== 204 && status !== 304;
      if (!hasBody) message.resume();
      resolve({
        status,
        headers,
        body: hasBody
          ? bodyStream(message, client, signal, { limit, silent: silent.signal })
          : null,
      });
    });
    sendBody(client, request.body ?? null, passed).catch((error: unknown) => {
      client.destroy();
      reject(asTransportError(error));
    });
  });
}

function open(request: OutboundRequest, url: URL, lookup: Lookup | undefined): ClientRequest {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of request.headers) {
    const before = headers[name];
    headers[name] = before === undefined ? value : [before, value].flat();
  }
  const settings: RequestOptions = {
    method: request.method,
    headers,
    // One connection per request: nothing that an earlier check allowed is ever reused.
    agent: false,
    ...(lookup === undefined ? {} : { lookup }),
  };
  return url.protocol === "https:"
    ? httpsRequest(url.href, settings)
    : httpRequest(url.href, settings);
}

async function sendBody(
  client: ClientRequest,
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  passed: () => void,
): Promise<void> {
  if (body === null) return void client.end();
  if (body instanceof Uint8Array) return void client.end(body);
  for await (const chunk of body) {
    if (client.destroyed) return;
    passed();
    if (!client.write(chunk)) {
      await new Promise<void>((resolve) => {
        client.once("drain", resolve);
        client.once("close", resolve);
      });
    }
  }
  passed();
  client.end();
}

function headerPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2)
    pairs.push([(raw[i] ?? "").toLowerCase(), raw[i + 1] ?? ""]);
  return pairs;
}

function bodyStream(
  message: IncomingMessage,
  client: ClientRequest,
  signal: AbortSignal | undefined,
  { limit, silent }: { readonly limit: SilenceLimit; readonly silent: AbortSignal },
): ReadableStream<Uint8Array> {
  let failure: SilentAnswer | undefined;
  /** Whether it fell silent; its last bytes go first, the error follows them. */
  const fellSilent = (controller: ReadableStreamDefaultController<Uint8Array>): boolean => {
    if (!silent.aborted) return false;
    failure = new SilentAnswer();
    const last = limit.last();
    if (last.length > 0) controller.enqueue(last);
    else controller.error(failure);
    return true;
  };
  const iterator: AsyncIterator<Uint8Array> = message[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (failure !== undefined) return failSoon(controller, failure);
        try {
          const { done, value } = await iterator.next();
          if (done !== true) return controller.enqueue(new Uint8Array(value));
          // Bun ends the iteration quietly when the peer goes away in mid-body.
          if (message.complete) controller.close();
          else if (!fellSilent(controller))
            controller.error(
              new TransportError("broken", "The connection ended in the middle of the answer"),
            );
        } catch (error) {
          if (fellSilent(controller)) return;
          controller.error(
            signal?.aborted === true
              ? new TransportError("aborted", "The request was aborted")
              : new TransportError("broken", "The connection broke in the middle of the answer", {
                  cause: error,
                }),
          );
        }
      },
      cancel() {
        client.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function asTransportError(error: unknown): TransportError {
  return error instanceof TransportError ? error : TransportError.unreachable(error);
}
