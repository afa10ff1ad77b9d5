import { BoundedMap } from "../work/bounded-map.ts";
import { type NowOrLater, whenReady } from "../work/now-or-later.ts";
import type { Hono } from "hono";
import { hasTokenShape } from "../auth/token-format.ts";
import { quickSha256Hex } from "../crypto/digest.ts";
import { utf8Counter } from "../crypto/encoding.ts";
import { type ResponseNote, responseNote, type PassingBytes } from "../http/response-note.ts";
import { noteTrace } from "../trace/trace-context.ts";
import { type Principal, reaches } from "../auth/principal.ts";
import { type ClientProgram, clientOf } from "./deprecated-uses.ts";
import type { HeaderPair, Platform } from "../ports.ts";
import type { OtlpSpanPlace } from "./otlp/otlp-records.ts";
import type { RequestRow } from "./requests/request-row.ts";
import { GATEWAY_ROUTE, type RouteTemplate, routeTemplates } from "./requests/route-template.ts";

type Fetch = Hono["fetch"];

/** Hex digits of a caller: enough to distinguish callers, too few to prove a guess of the credential. */
const CALLER_DIGITS = 8;
/** Characters of a reason. */
const REASON = 300;
/** Deprecated entries of one request. */
const ENTRIES = 16;
/** Callers whose hash is remembered: hashing costs as much as all else that is done for a request. */
const CALLERS = 1000;
/** Characters of a credential that is remembered. */
const REMEMBERED = 512;
/** Headers in which callers present credentials; the first one present counts. */
const CREDENTIALS = ["cf-aig-authorization", "authorization", "x-api-key", "x-goog-api-key"];
const ID = /^[\w.:-]{1,128}$/;

/** The dependencies of {@link observedFetch}. */
export interface Observer {
  readonly platform: Platform;
  /** The installation's account, to which requests belong that name no other. */
  readonly accountId: string;
  /** Whether a text holds a credential. */
  readonly isSecret: (text: string) => boolean;
  /** The token that a request is authenticated with; null for strangers. Asked about deprecated uses only. */
  readonly identify: (
    request: Request,
  ) => NowOrLater<Pick<Principal, "id" | "name" | "grants"> | null>;
  /** Begins the span of a request. @default no tracing */
  readonly begin?: ((traceparent: string | null) => OtlpSpanPlace | null) | undefined;
  /** Receives each request and its span, which is null for the gateway because it writes its own. */
  readonly report: (row: RequestRow, span: OtlpSpanPlace | null) => void;
}

/**
 * The app's `fetch`, which calls `report` for every request once its answer is complete. It reads nothing from an answer
 * of the gateway, because that would take the answer off its fast path: its maker leaves a note
 * (`core/http/response-note.ts`).
 */
export function observedFetch(app: Hono, observer: Observer): Fetch {
  const { platform, begin, report } = observer;
  const { system } = platform;
  const { fetch } = app;
  const templateOf = routeTemplates(app);
  const hashOf = callers(platform);
  const bytesIn = utf8Counter();
  const seen = (response: Response, began: Began): Response => {
    const note = responseNote(response);
    if (note?.isLogged === true) return response;
    const { request, span } = began;
    const arrived = { response, note, began };
    const plain = rowOf(arrived, bytesOf(arrived, bytesIn), observer);
    const row = withCaller(plain, request, hashOf(request), observer);
    const body = note?.body;
    if (isPassing(body)) tellAtEnd({ row, body, span, began: began.at });
    else tell(row, span);
    return response;
  };
  const tell = (row: NowOrLater<RequestRow>, span: OtlpSpanPlace | null): void => {
    if (row instanceof Promise) system.waitUntil(row.then((known) => report(known, span)));
    else report(row, span);
  };
  // A function of its own, so that its closure holds the row alone: a log that keeps request and answer of every
  // stream until its end makes the collector copy all of them, which costs a stream a fifth of its CPU.
  const tellAtEnd = ({ row, body, span, began }: Streaming): void => {
    body.onEnd(() => {
      const ms = rounded(system.monotonic() - began);
      const whole = whenReady(row, (known) => ({
        ...known,
        ms,
        firstMs: known.ms,
        bytes: body.bytes,
      }));
      tell(whole, span);
    });
  };
  // The gateway's hot path reads its headers itself.
  const spanOf = (request: Request, path: string): OtlpSpanPlace | null => {
    if (begin === undefined || path.startsWith("/v1/")) return null;
    const span = begin(request.headers.get("traceparent"));
    if (span !== null) noteTrace(request, span);
    return span;
  };
  return (request, ...rest) => {
    const [at, time, path] = [system.monotonic(), system.now(), app.getPath(request)];
    const span = spanOf(request, path);
    const answered = fetch(request, ...rest);
    const began = { request, path, at, time, span, template: templateOf(request.method, path) };
    return whenReady(answered, (response) => seen(response, began));
  };
}

interface Began {
  readonly request: Request;
  readonly path: string;
  /** Arrival by the steady clock, and in Unix ms. */
  readonly at: number;
  readonly time: number;
  readonly span: OtlpSpanPlace | null;
  readonly template: RouteTemplate;
}

interface Arrived {
  readonly response: Response;
  readonly note: ResponseNote | undefined;
  readonly began: Began;
}

interface Streaming {
  readonly row: NowOrLater<RequestRow>;
  readonly body: PassingBytes;
  readonly span: OtlpSpanPlace | null;
  readonly began: number;
}

function isPassing(body: ResponseNote["body"]): body is PassingBytes {
  return body !== null && typeof body === "object" && "onEnd" in body;
}

/** A row whose caller is still looked up. */
type NewRow = RequestRow & { caller: string | undefined };

/** The failure of an answer without a note: a route of the host's made it, or middleware that put it in place of ours. */
const HOST_ANSWER: ResponseNote["failure"] = {
  error: "host_answer",
  reason: "A route or middleware of the host app made this answer: its code knows why",
};

/** The row of an answer at the time when the server gets it. All rows have the same members: V8 then shares one shape. */
function rowOf(arrived: Arrived, bytes: number | undefined, observer: Observer): NewRow {
  const { response, note, began } = arrived;
  const { request, template } = began;
  const error = note?.error;
  const failure = note?.failure ?? (response.status < 400 ? undefined : HOST_ANSWER);
  return {
    time: began.time,
    id: requestId(arrived, observer),
    part: template.part,
    method: request.method,
    route: template.route,
    status: response.status,
    ms: rounded(observer.platform.system.monotonic() - began.at),
    firstMs: undefined,
    bytes,
    ...whose(arrived, observer),
    token: undefined,
    tokenName: undefined,
    client: undefined,
    error: error?.kind ?? failure?.error,
    reason: error
      ? shown(error.options.reason ?? error.message, observer.isSecret)
      : failure?.reason,
    deprecation: template === GATEWAY_ROUTE ? undefined : deprecationOf(response),
    made: note?.made,
  };
}

/** The visitor of a route that needs no token, and the account that the request belongs to. */
function whose(
  { note, began: { path } }: Arrived,
  observer: Observer,
): { readonly caller: string | undefined; readonly account: string | undefined } {
  const visitor = note?.visitor;
  if (visitor === undefined) return { caller: undefined, account: otherAccount(path, observer) };
  const caller = shown(visitor.name, observer.isSecret);
  return { caller, account: other(visitor.account, observer) };
}

/** Adds the known facts about a caller: the digits of its credential, and its token and program where those are asked for. */
function withCaller(
  row: NewRow,
  request: Request,
  hash: NowOrLater<string | undefined>,
  { identify, isSecret }: Observer,
): NowOrLater<RequestRow> {
  if (row.deprecation === undefined)
    return whenReady(hash, (caller) => {
      row.caller ??= caller;
      return row;
    });
  return Promise.all([hash, identify(request)]).then(([caller, found]) => {
    // In an account that its token has nothing to do with, a caller is a stranger.
    const isStranger = row.account !== undefined && found !== null && !reaches(found, row.account);
    const token = isStranger ? null : found;
    return {
      ...row,
      caller,
      token: token?.id,
      tokenName: token?.name,
      client: shownClient(request, isSecret),
    };
  });
}

/** The program of a request, unless it puts a token into its name. */
function shownClient(request: Request, isSecret: Observer["isSecret"]): ClientProgram | undefined {
  const said = ["user-agent", "x-stainless-package-version"].map((name) =>
    request.headers.get(name),
  );
  return said.some((text) => text !== null && (hasTokenShape(text) || isSecret(text)))
    ? undefined
    : clientOf(request);
}

const API_ACCOUNT = /\/client\/v4\/accounts\/([\w-]{1,64})(?:\/|$)/;
const GATEWAY_ACCOUNT = /^\/v1\/([\w-]{1,64})(?:\/|$)/;

/** The account that a path names, if it is neither the installation's nor a token that a caller put in its place. */
function otherAccount(path: string, { accountId, isSecret }: Observer): string | undefined {
  const named = path.startsWith("/v1/") ? GATEWAY_ACCOUNT : API_ACCOUNT;
  const account = named.exec(path)?.[1];
  return account === undefined || hasTokenShape(account) || isSecret(account)
    ? undefined
    : other(account, { accountId });
}

function other(account: string, { accountId }: Pick<Observer, "accountId">): string | undefined {
  return account === accountId ? undefined : account;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** One line without tokens, even where a caller put one into a name. */
function shown(message: string, isSecret: (text: string) => boolean): string {
  if (hasTokenShape(message) || isSecret(message)) return "[withheld: it names a token]";
  return message.slice(0, REASON).replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ");
}

function bytesOf(
  { response, note, began: { request, template } }: Arrived,
  bytesIn: (text: string) => number,
): number | undefined {
  if (request.method === "HEAD") return 0;
  const body = note?.body;
  if (body === null) return 0;
  if (typeof body === "string") return bytesIn(body);
  if (body instanceof Uint8Array) return body.byteLength;
  if (body !== undefined) return body.bytes;
  if (template === GATEWAY_ROUTE) return undefined;
  const length = response.headers.get("content-length");
  return length === null ? undefined : Number(length);
}

/** The caller's own id, else that of the answer, else a fresh one; answers of the gateway have theirs already. */
function requestId(
  { response, note, began: { request, template } }: Arrived,
  observer: Observer,
): string {
  const { system } = observer.platform;
  if (note?.requestId !== undefined) return note.requestId;
  if (template === GATEWAY_ROUTE) return system.id();
  const given = request.headers.get("x-request-id");
  const id = given !== null && isRequestId(given, request, observer) ? given : system.id();
  // An upgrade's headers are the runtime's.
  if (response.status >= 200) setHeader(response, id);
  return id;
}

/**
 * Whether a caller's id can be logged and answered: it contains none of our tokens, and nothing that was sent as a
 * credential.
 */
function isRequestId(text: string, { headers }: Request, { isSecret }: Observer): boolean {
  if (!ID.test(text) || hasTokenShape(text) || isSecret(text)) return false;
  return CREDENTIALS.every((name) => {
    const value = headers.get(name)?.replace(/^bearer +/i, "") ?? "";
    return value === "" || !text.includes(value);
  });
}

function setHeader({ headers }: Response, id: string): void {
  try {
    headers.set("x-request-id", id);
  } catch {
    // A host's own answer may be immutable.
  }
}

/** The entries of the table that an answer's links name (RFC 9745). */
function deprecationOf({ headers }: Response): string | undefined {
  if (!headers.has("deprecation")) return undefined;
  const link = headers.get("link") ?? "";
  const ids = [...link.matchAll(/<[^<>]*#([\w.-]{1,80})>; rel="deprecation"/g)].map(([, id]) => id);
  return ids.length === 0 ? undefined : ids.slice(0, ENTRIES).join(" ");
}

/** Finds the hash of a request's credential. */
function callers(platform: Platform): (request: Request) => NowOrLater<string | undefined> {
  const known = new BoundedMap<string, string>(CALLERS);
  return (request) => {
    const presented = credentialOf(request, platform);
    if (presented === undefined) return undefined;
    const found = known.get(presented);
    if (found !== undefined) return found;
    const hash = quickSha256Hex(presented.replace(/^bearer +/i, ""), platform.system);
    return whenReady(hash, (digits) => {
      const caller = digits.slice(0, CALLER_DIGITS);
      // A long one cannot be one of our tokens, and would only take memory.
      if (presented.length <= REMEMBERED) known.set(presented, caller);
      return caller;
    });
  };
}

function credentialOf(request: Request, platform: Platform): string | undefined {
  const received = platform.received?.(request)?.headers;
  for (const name of CREDENTIALS) {
    const value = received === undefined ? request.headers.get(name) : headerOf(received, name);
    if (value != null && value !== "") return value;
  }
  return undefined;
}

function headerOf(headers: readonly HeaderPair[], name: string): string | undefined {
  for (const [header, value] of headers) if (header === name) return value;
  return undefined;
}
