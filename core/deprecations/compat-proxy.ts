import { hopByHop } from "../http/hop-by-hop.ts";
import { ApiError, invalidOptions } from "../http/api-error.ts";
import { errorResponse } from "../http/envelope.ts";
import { isOrigin } from "../net/public-url.ts";
import { copyOf } from "../net/client-address.ts";
import { answerFound, type Host } from "./handle.ts";
import { findHits } from "./hits.ts";
import { compile, type Deprecations, type DeprecationsOptions } from "./options.ts";
import { pathStart } from "./translate/pathname.ts";

/** Options of {@link compatProxy}. */
export interface CompatProxyOptions extends Omit<DeprecationsOptions, "isMounted"> {
  /** Scheme, host and port of the present API, e.g. `"https://api.example.com"`; paths stay unchanged. */
  readonly upstream: string;
  /** Asks the upstream. @default the `fetch` of the runtime */
  readonly fetch?: NonNullable<DeprecationsOptions["fetch"]>;
  /** Milliseconds within which an answer of the upstream must begin; from then on it may take its time. @default 100,000 */
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 100_000;

/**
 * A proxy before an API that has today's routes only: calls of old clients are rewritten and answered in their old form, or
 * refused with the replacement; all else streams through untouched. Throws `ApiError` (`invalid_options`).
 *
 * @example
 * ```ts
 * import { compatProxy } from "causey/deprecations";
 *
 * const fetch = async (request: Request) => new Response(new URL(request.url).pathname);
 * const proxy = compatProxy({ upstream: "https://api.example.com", fetch });
 * const old = new Request("http://localhost/client/v4/zones/z/script_monitor/scripts");
 * await (await proxy(old)).text(); // → "/client/v4/zones/z/page_shield/scripts"
 * ```
 */
export function compatProxy(options: CompatProxyOptions): (request: Request) => Promise<Response> {
  const { upstream, fetch: own, timeoutMs = TIMEOUT_MS, ...rest } = options;
  checkTimeout(timeoutMs);
  const origin = originOf(upstream);
  // eslint-disable-next-line no-restricted-properties -- the operator's own address, asked as the program itself would
  const ask = own ?? ((request: Request) => globalThis.fetch(request));
  const forward = (request: Request): Promise<Response> =>
    forwarded(request, origin, (one) => inTime(one, ask, timeoutMs));
  const root = compile(rest);
  return (request) => {
    const maybe = findHits(request, root);
    if (maybe === null) return forward(request);
    return answerFound(request, maybe, root, (known) => upstreamHost(forward, known));
  };
}

/** The upstream, which has all routes of today. */
function upstreamHost(
  forward: (request: Request) => Promise<Response>,
  { match }: Deprecations,
): Host {
  return {
    next: forward,
    ask: forward,
    isRouted(method, path) {
      const endpoints = match(method, path, 0, path.length).filter(
        ({ kind }) => kind === "endpoint",
      );
      if (endpoints.length === 0) return true;
      const isRewritten = endpoints.every(
        ({ rewriting, isReused }) => rewriting !== undefined && isReused !== true,
      );
      return isRewritten ? false : null;
    },
    mayBeRouted: () => true,
    isUnrouted: ({ status }) => status === 404 || status === 405,
  };
}

function checkTimeout(ms: number): void {
  if (Number.isInteger(ms) && ms >= 1 && ms <= 2 ** 31 - 1) return;
  const message = `timeoutMs ${ms}: expected a whole number of milliseconds from 1 to 2147483647`;
  throw invalidOptions(message);
}

function originOf(upstream: string): string {
  if (isOrigin(upstream)) return upstream;
  const message = `upstream "${upstream}" is not an origin: write scheme, host and port, such as "https://api.example.com"`;
  throw invalidOptions(message);
}

/** Headers of a request that describe its connection, beside those of `hopByHop`. */
const OF_REQUEST = ["host", "content-length", "expect"];

async function forwarded(
  request: Request,
  origin: string,
  ask: NonNullable<DeprecationsOptions["fetch"]>,
): Promise<Response> {
  const headers = new Headers(request.headers);
  for (const name of [...OF_REQUEST, ...connectionHeaders(request.headers)]) headers.delete(name);
  // Runtimes decode what they fetch, but leave the header that says otherwise.
  headers.set("accept-encoding", "identity");
  const { method, body, signal } = request;
  // `duplex` is not in TypeScript's RequestInit; Node asks for it when the body is a stream.
  const init = { method, headers, body, signal, redirect: "manual", duplex: "half" } as RequestInit;
  const url = `${origin}${request.url.slice(pathStart(request.url))}`;
  try {
    const answer = await ask(copyOf(request, new Request(url, init)));
    const { status, statusText } = answer;
    const kept = new Headers(answer.headers);
    for (const name of connectionHeaders(answer.headers)) kept.delete(name);
    if (kept.has("content-encoding")) for (const name of ENCODED) kept.delete(name);
    return new Response(answer.body, { status, statusText, headers: kept });
  } catch (error) {
    if (signal.aborted) throw error;
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const message = `The upstream ${origin} did not answer${isLate ? " in time" : ""}`;
    return errorResponse(new ApiError("unavailable", { message, cause: error }), "api");
  }
}

/** Asks with a deadline for the beginning of the answer; its body ends with the client alone. */
async function inTime(
  request: Request,
  ask: NonNullable<DeprecationsOptions["fetch"]>,
  ms: number,
): Promise<Response> {
  const { signal } = request;
  const over = new AbortController();
  // eslint-disable-next-line no-restricted-properties -- a proxy has no platform, whose System would sleep
  const late = AbortSignal.timeout(ms);
  const leave = (): void => over.abort(signal.reason);
  const expire = (): void => over.abort(late.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  late.addEventListener("abort", expire, { once: true });
  try {
    const ended = new Promise<never>((_, reject) => {
      over.signal.addEventListener("abort", () => reject(over.signal.reason), { once: true });
    });
    ended.catch(() => undefined);
    return await Promise.race([
      ask(copyOf(request, new Request(request, { signal: over.signal }))),
      ended,
    ]);
  } finally {
    late.removeEventListener("abort", expire);
  }
}

const ENCODED = ["content-encoding", "content-length"];

function connectionHeaders(headers: Headers): string[] {
  const listed = (headers.get("connection") ?? "").split(",").map((name) => name.trim());
  return [...hopByHop, ...listed.filter((name) => /^[\w-]+$/.test(name))];
}
