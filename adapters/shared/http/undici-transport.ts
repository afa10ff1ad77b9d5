import { Readable } from "node:stream";
import { Agent, type Dispatcher, EnvHttpProxyAgent, errors, buildConnector } from "undici";
import { TransportError } from "../../../core/net/transport-error.ts";
import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  Transport,
} from "../../../core/ports.ts";
import { type BeginDeadlines, beginDeadlines, lateAnswer } from "../work/begin-deadline.ts";
import { environmentProxy, environmentProxyFor, isLoopback } from "./environment-proxy.ts";
import { ANSWER_SILENCE_MS, SilentAnswer, silenceLimit } from "./answer-silence.ts";
import { throughProxy, toTransportError } from "./to-transport-error.ts";
import { endToEnd, REQUEST_FRAMING } from "./header-pairs.ts";
import { followSockets, metIdleClose, noteSocket, type SocketUse } from "./socket-use.ts";
import { type AtTurnsEnd, atTurnsEnd } from "./turn.ts";
import { sharingTurns, type TurnShare, turnShare } from "./turn-share.ts";
import { upstreamBody, upstreamBodyOf } from "./upstream-body.ts";

/** Answers up to this many bytes, announced by `content-length`, are handed on whole: cheaper than a stream. */
const WHOLE_BODY_BYTES = 64 * 1024;
/** How much longer than a request's own deadline its connection may be silent, in ms. */
const MARGIN_MS = 5000;

/** HTTP over undici's dispatcher: raw bytes and true headers, at a fifth of the cost of Node's `fetch` and, of streams, at a third of that of Deno's. */
export function undiciTransport(
  silenceMs: number = ANSWER_SILENCE_MS,
): Transport & { close(): Promise<void> } {
  // The socket must not cut off a request with a longer time limit.
  let patience = silenceMs;
  const connect = endingSilence(() => patience);
  const keeping = dispatchers(connect, silenceMs);
  // Keeps no connection, so that a request is not sent again on another one that is about to be closed.
  const fresh = dispatchers(connect, silenceMs, { pipelining: 0 });
  followSockets();
  const proxyFor = environmentProxyFor();
  const atEnd = atTurnsEnd();
  const turns = turnShare();
  const deadlines = beginDeadlines();
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        if (request.signal?.aborted === true) {
          reject(new TransportError("aborted", "The request was aborted"));
          return;
        }
        try {
          patience = Math.max(
            patience,
            request.beginMs === undefined ? 0 : request.beginMs + MARGIN_MS,
            request.silence === undefined ? 0 : request.silence.ms + MARGIN_MS,
          );
          const sendBy = ({ direct, proxied }: Dispatchers): void => {
            const by = proxied === undefined || isLoopback(request.url) ? direct : proxied;
            by.dispatch(toDispatch(request, passed, silenceMs), handler);
          };
          const again = (): void => sendBy(fresh);
          const callbacks = { resolve, reject, atEnd, turns, deadlines, again, proxyFor };
          const { handler, passed } = exchange(request, callbacks);
          sendBy(keeping);
        } catch (error) {
          reject(toTransportError(error, request.signal, "unreachable"));
        }
      }),
    watch: (body, watch) => upstreamBodyOf(body)?.watch(watch) ?? null,
    change(body, change) {
      const upstream = upstreamBodyOf(body);
      upstream?.change(change);
      return upstream !== undefined;
    },
    close: async () => {
      const all = [keeping, fresh].flatMap(({ direct, proxied }) => [direct, proxied]);
      await Promise.all(all.map(async (one) => one?.destroy()));
    },
  };
}

/** The ways out: straight, and through the environment's proxy. */
interface Dispatchers {
  readonly direct: Agent;
  /** Undefined without a proxy. */
  readonly proxied: EnvHttpProxyAgent | undefined;
}

function dispatchers(
  connect: buildConnector.connector,
  silenceMs: number,
  options: { readonly pipelining?: 0 } = {},
): Dispatchers {
  const direct = new Agent({
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
    ...options,
  });
  const proxy = environmentProxy();
  const timeouts = { headersTimeout: silenceMs, bodyTimeout: silenceMs };
  const proxied =
    proxy === undefined
      ? undefined
      : new EnvHttpProxyAgent({ allowH2: false, ...timeouts, ...options, ...proxy });
  return { direct, proxied };
}

/** `passed` is called after each chunk of a streamed body, and at its end. */
function toDispatch(
  request: OutboundRequest,
  passed: () => void,
  silenceMs: number,
): Dispatcher.DispatchOptions {
  const { body, silence } = request;
  const streamed = body instanceof ReadableStream;
  return {
    ...addressOf(request.url),
    method: request.method,
    headers: flatHeaders(request.headers, streamed),
    // The request has a deadline of its own.
    headersTimeout: request.beginMs === undefined ? null : 0,
    // As long as that of the connection, it needs no timer of its own.
    bodyTimeout:
      silence === undefined || silence.ms === silenceMs ? null : silenceLimit(silence, []).ms,
    body: streamed ? Readable.from(chunksOf(body, passed), { objectMode: false }) : (body ?? null),
  };
}

/** Addresses that a URL parser would leave as they are, but for segments that begin with a dot. */
const PLAIN = /^(https?:\/\/[a-z\d.-]+(?::\d{1,5})?)(\/[\w./~:@!$&()*+,;=?-]*)$/;

function addressOf(address: string): { origin: string; path: string } {
  const [, origin, path] = PLAIN.exec(address) ?? [];
  if (origin !== undefined && path !== undefined && !path.includes("/.")) return { origin, path };
  const url = new URL(address);
  return { origin: url.origin, path: `${url.pathname}${url.search}` };
}

/** Names and values in turn, as undici takes them cheapest. Of a stream only the caller may know the length. */
function flatHeaders(pairs: readonly HeaderPair[], streamed: boolean): string[] {
  const flat: string[] = [];
  for (const [name, value] of endToEnd(pairs)) {
    if (REQUEST_FRAMING.includes(name) && !(streamed && name === "content-length")) continue;
    flat.push(name, value);
  }
  return flat;
}

/** Yields the chunks of a stream; stopping early, as undici does on an abort, cancels it. */
async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  passed: () => void,
): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      passed();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The callbacks that deliver an answer to the caller. */
interface AnswerCallbacks {
  readonly resolve: (response: InboundResponse) => void;
  readonly reject: (error: TransportError) => void;
  readonly atEnd: AtTurnsEnd;
  readonly turns: TurnShare;
  readonly deadlines: BeginDeadlines;
  /** Sends the request once more, on a connection of its own. */
  readonly again: () => void;
  readonly proxyFor: (url: string) => URL | null;
}

/** undici's callbacks, and a callback for each sent part of a streamed body. */
interface Exchange {
  readonly handler: Dispatcher.DispatchHandler;
  readonly passed: () => void;
}

/** One request and its answer, as undici's callbacks. */
function exchange(request: OutboundRequest, callbacks: AnswerCallbacks): Exchange {
  const { signal, beginMs, body } = request;
  const { reject, deadlines } = callbacks;
  let control: Dispatcher.DispatchController | undefined;
  let sink: Sink | undefined;
  let ended: TransportError | undefined;
  let use: SocketUse = { isReused: false, received: 0 };
  const end = (error: TransportError): void => {
    ended = error;
    settle();
    reject(error);
    sink?.fail(error);
    control?.abort(error);
  };
  const onAbort = (): void => end(new TransportError("aborted", "The request was aborted"));
  const deadline =
    beginMs === undefined ? undefined : deadlines.start(beginMs, () => end(lateAnswer(beginMs)));
  signal?.addEventListener("abort", onAbort, { once: true });
  const settle = (): void => {
    signal?.removeEventListener("abort", onAbort);
    if (deadline !== undefined) deadlines.stop(deadline);
  };
  const passed = (): void => {
    if (deadline !== undefined) deadlines.restart(deadline);
  };

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      control = controller;
      // Ended while it waited for a connection.
      if (ended !== undefined) return controller.abort(ended);
      noteSocket((use = { isReused: false, received: 0 }));
    },
    onResponseStart(controller, status, received) {
      // 103 and its like are for browsers.
      if (status < 200) return;
      if (deadline !== undefined) deadlines.stop(deadline);
      sink = sinkOf(request, { status, received, controller }, callbacks);
    },
    onResponseData(_controller, chunk) {
      sink?.data(
        new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength) as Uint8Array<ArrayBuffer>,
      );
    },
    onResponseEnd() {
      settle();
      sink?.end();
    },
    onResponseError(_controller, error) {
      const mayRepeat = ended === undefined && !(body instanceof ReadableStream);
      if (mayRepeat && metIdleClose(use, error)) {
        // The connection is still being taken down.
        queueMicrotask(callbacks.again);
        return;
      }
      settle();
      const failure = failureOf(error, signal, sink !== undefined);
      if (sink === undefined)
        reject(callbacks.proxyFor(request.url) === null ? failure : throughProxy(failure));
      else sink.fail(failure);
    },
  };
  return { handler, passed };
}

function failureOf(
  error: Error,
  signal: AbortSignal | undefined,
  hasBegun: boolean,
): TransportError {
  const isSilent = error instanceof SilentAnswer || error instanceof errors.BodyTimeoutError;
  if (isSilent && hasBegun) return new SilentAnswer();
  if (isSilent)
    return new TransportError("unreachable", "The upstream sent no answer", {
      cause: error,
      failure: "timeout",
    });
  return toTransportError(error, signal, hasBegun ? "broken" : "unreachable");
}

/** The receiver of an answer's bytes. */
interface Sink {
  data(chunk: Uint8Array<ArrayBuffer>): void;
  end(): void;
  fail(error: TransportError): void;
}

interface Head {
  readonly status: number;
  readonly received: Readonly<Record<string, string | string[] | undefined>>;
  readonly controller: Dispatcher.DispatchController;
}

/** Hands an answer on: at once, with a stream, or when a small one is there whole. */
function sinkOf(
  { method, silence }: OutboundRequest,
  { status, received, controller }: Head,
  callbacks: AnswerCallbacks,
): Sink {
  const headers = endToEnd(toPairs(received));
  if (method === "HEAD" || status === 204 || status === 304) {
    callbacks.resolve({ status, headers, body: null });
    return { data: () => undefined, end: () => undefined, fail: () => undefined };
  }
  const length = Number(received["content-length"] ?? Number.NaN);
  if (length <= WHOLE_BODY_BYTES) {
    const done = (body: Uint8Array): void => {
      callbacks.atEnd(() => callbacks.resolve({ status, headers, body }));
    };
    return wholeBody(length, done, callbacks.reject);
  }
  const control = sharingTurns(controller, callbacks.turns);
  const body = upstreamBody(control, () => silenceLimit(silence, headers).last());
  callbacks.resolve({ status, headers, body: body.stream });
  // Its first bytes wait, too, in a turn that has brought too much.
  control.took(0);
  return {
    data(chunk) {
      body.data(chunk);
      control.took(chunk.length);
    },
    end: () => body.end(),
    fail: (error) => body.fail(error),
  };
}

function wholeBody(
  length: number,
  done: (body: Uint8Array) => void,
  reject: (error: TransportError) => void,
): Sink {
  let body: Uint8Array | undefined;
  let at = 0;
  return {
    data(chunk) {
      // Most bodies come in one piece, which has no other owner.
      if (body === undefined && chunk.byteLength === length) body = chunk;
      else (body ??= new Uint8Array(length)).set(chunk, at);
      at += chunk.byteLength;
    },
    end: () => {
      done(body ?? new Uint8Array(0));
    },
    fail: reject,
  };
}

function toPairs(headers: Readonly<Record<string, string | string[] | undefined>>): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (const name in headers) {
    const value = headers[name] ?? "";
    const lower = name.toLowerCase();
    if (typeof value === "string") pairs.push([lower, value]);
    else for (const one of value) pairs.push([lower, one]);
  }
  return pairs;
}

/** Milliseconds for a connection to open. */
const CONNECT_MS = 10_000;

/**
 * Connects as undici does, and ends a connection without traffic for `patience()` ms. undici's own timeouts make a timer
 * for each request, which stays for half a second: under load that is most of what the old generation collects.
 */
function endingSilence(patience: () => number): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, timeout: CONNECT_MS });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const ms = patience();
      socket.setTimeout(ms, () => {
        const more = patience() - ms;
        // A later request on the connection allows more silence.
        if (more > 0 && socket.timeout === ms) socket.setTimeout(more);
        else socket.destroy(new SilentAnswer());
      });
      callback(null, socket);
    });
  };
}
