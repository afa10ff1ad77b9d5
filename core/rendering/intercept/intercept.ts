import type { CdpData, CdpEvent } from "../cdp/cdp.ts";
import { proxyFailure } from "../input/errors.ts";
import type { ProxyLogin } from "../../ports.ts";
import { type Job, pageBytes } from "../job/job.ts";
import { longBase64 } from "../../http/json/long-json.ts";
import { fileAnswer, isUploaded } from "../job/uploaded-files.ts";
import type { GateDecision, PageRequest } from "../job/request-gate.ts";

/** The answer to an intercepted request: a method of the `Fetch` domain and its parameters. */
export interface InterceptAnswer {
  readonly method: string;
  readonly params: CdpData;
}

/** Facts about the page that a request belongs to. */
export interface RequestContext {
  /** Whether the event came from the page's own target, and for its main frame. */
  readonly mainFrame: boolean;
  /** Whether a document of the page asks for it, and not the load of the page itself. */
  readonly later: boolean;
  /** Is told of navigations away from the page that are refused. */
  readonly onRefused: (url: string, reason: RefusedNavigation["reason"]) => void;
  /** Whether `html` has been delivered under the URL of the job already. */
  readonly delivered: boolean;
}

/**
 * A navigation away from the page that came to nothing: to an address that is not allowed, against a rule of the
 * caller, to a site that could not be reached, or to a file.
 */
export interface RefusedNavigation {
  readonly url: string;
  readonly reason: "forbidden" | "blocked" | "unreachable" | "download";
}

/** Answers a paused event that is about a response; null for a request, see {@link answerRequest}. */
export function passResponse(
  { params }: CdpEvent,
  { later, onRefused }: Pick<RequestContext, "later" | "onRefused">,
): InterceptAnswer | null {
  if (params["responseStatusCode"] === undefined && params["responseErrorReason"] === undefined)
    return null;
  const { requestId } = params;
  const refusal = later ? refusalOf(params) : null;
  if (refusal === null) return { method: "Fetch.continueRequest", params: { requestId } };
  onRefused((params["request"] as { url: string }).url, refusal);
  // A request that failed already takes no answer; aborting it ends it without an error page.
  return params["responseErrorReason"] === undefined
    ? stay(requestId)
    : { method: "Fetch.failRequest", params: { requestId, errorReason: "Aborted" } };
}

/** Returns what there is to decide about a paused request. */
export function pageRequest({ params }: CdpEvent, mainFrame: boolean): PageRequest {
  const { url } = params["request"] as { url: string };
  const type = String(params["resourceType"]).toLowerCase();
  return { url: withoutHash(url), type, main: mainFrame && type === "document" };
}

/** Answers one paused request as it was decided. */
export function answerRequest(
  event: CdpEvent,
  job: Job,
  context: RequestContext,
  decision: GateDecision,
): InterceptAnswer {
  const { params } = event;
  const { requestId } = params;
  const request = params["request"] as { url: string; headers: Readonly<Record<string, string>> };
  const { main } = pageRequest(event, context.mainFrame);
  if (decision !== "continue") {
    if (!context.later) return refuseRequest(event);
    context.onRefused(request.url, decision);
    return stay(requestId);
  }
  if (main && !context.delivered && job.body.html !== undefined)
    return deliverHtml(requestId, pageBytes(job));
  if (job.upload !== undefined && isUploaded(request.url))
    return {
      method: "Fetch.fulfillRequest",
      params: fileAnswer(requestId, request.url, job.upload),
    };
  const headers = requestHeaders(request, job);
  return {
    method: "Fetch.continueRequest",
    params: headers === null ? { requestId } : { requestId, headers },
  };
}

/** Lets the login to the proxy pass, which no rule of a caller is about; null for any other request. */
export function answerLogin(
  { params }: CdpEvent,
  login: ProxyLogin | null,
): InterceptAnswer | null {
  const { requestId } = params;
  const { url } = params["request"] as { url: string };
  return url === login?.url ? { method: "Fetch.continueRequest", params: { requestId } } : null;
}

export function refuseRequest({ params: { requestId } }: CdpEvent): InterceptAnswer {
  return { method: "Fetch.failRequest", params: { requestId, errorReason: "BlockedByClient" } };
}

/** Why an answer must not take the place of the page; null when it may. */
function refusalOf(params: CdpData): RefusedNavigation["reason"] | null {
  if (params["responseErrorReason"] !== undefined) return "unreachable";
  const headers = (params["responseHeaders"] ?? []) as { name: string; value: string }[];
  const said = headers.find(({ name }) => name.toLowerCase() === "proxy-status");
  const failure = proxyFailure(said?.value ?? "");
  if (failure === null) return null;
  return failure.kind === "blocked_url" ? "forbidden" : "unreachable";
}

/** An answer without content commits no document: the one that is shown stays (RFC 9110, section 15.3.5). */
function stay(requestId: unknown): InterceptAnswer {
  return { method: "Fetch.fulfillRequest", params: { requestId, responseCode: 204 } };
}

/** `html` with a base is the answer to its own URL: nothing is loaded, and relative links still work. */
function deliverHtml(requestId: unknown, html: Uint8Array): InterceptAnswer {
  return {
    method: "Fetch.fulfillRequest",
    params: {
      requestId,
      responseCode: 200,
      responseHeaders: [{ name: "content-type", value: "text/html; charset=utf-8" }],
      body: longBase64(html),
    },
  };
}

/**
 * The headers of a request with the caller's extra ones: only for the origin of `url`, because they are
 * credentials. A redirect arrives here with the headers of the request before it, so for any other origin
 * they are taken out again. Null: nothing to change.
 */
function requestHeaders(
  request: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  job: Job,
): { name: string; value: string }[] | null {
  if (job.headers.size === 0 || job.url === null) return null;
  const own = Object.entries(request.headers).filter(
    ([name]) => !job.headers.has(name.toLowerCase()),
  );
  const extra = URL.parse(request.url)?.origin === job.url.origin ? [...job.headers] : [];
  return [...own, ...extra].map(([name, value]) => ({ name, value }));
}

/** The credentials that a request may be answered with: the caller's for the page, and the proxy's. */
export interface Credentials {
  readonly job: Job | null;
  readonly login: ProxyLogin | null;
  /** Requests that were given credentials: none gets them twice. */
  readonly asked: Set<string>;
}

/**
 * Answers one `Fetch.authRequired` event, once: the proxy gets its login, and the origin of `url` the caller's name and
 * password.
 */
export function answerAuth(
  { params }: CdpEvent,
  { job, login, asked }: Credentials,
): InterceptAnswer {
  const requestId = String(params["requestId"]);
  const { source, origin } = params["authChallenge"] as { source?: string; origin?: string };
  const isOwn = (URL.parse(origin ?? "")?.origin ?? "") === job?.url?.origin;
  const pair = source === "Proxy" ? login : isOwn ? job?.body.authenticate : null;
  const isFirst = !asked.has(requestId);
  asked.add(requestId);
  const response =
    isFirst && pair
      ? { response: "ProvideCredentials", username: pair.username, password: pair.password }
      : { response: "CancelAuth" };
  return {
    method: "Fetch.continueWithAuth",
    params: { requestId, authChallengeResponse: response },
  };
}

function withoutHash(url: string): string {
  const at = url.indexOf("#");
  return at < 0 ? url : url.slice(0, at);
}
