import { ApiError } from "../../http/api-error.ts";
import type { ErrorName } from "../../http/codes.ts";
import { TransportError } from "../../net/transport-error.ts";
import { CdpError } from "../cdp/cdp.ts";
import { PDF } from "../pdf/pdf-reader.ts";

/** Chromium's network errors and the failure that each is reported as. */
const networkErrors: readonly (readonly [RegExp, ErrorName])[] = [
  [/ERR_CERT_|ERR_SSL_/u, "certificate"],
  [/ERR_ADDRESS_UNREACHABLE|ERR_INTERNET_DISCONNECTED/u, "address_unreachable"],
  [
    /ERR_BLOCKED_BY|ERR_INVALID_URL|ERR_UNSAFE_|ERR_UNKNOWN_URL_SCHEME|ERR_FILE_|ERR_ACCESS_DENIED|ERR_DISALLOWED_URL/u,
    "blocked_url",
  ],
  [/ERR_ABORTED|TIMED_OUT$/u, "load_aborted"],
  [/ERR_TOO_MANY_REDIRECTS/u, "redirect_loop"],
  [/ERR_HTTP2_/u, "http2_error"],
  [/ERR_NAME_/u, "name_not_resolved"],
  [
    /ERR_CONNECTION_CLOSED|ERR_CONNECTION_RESET|ERR_TUNNEL_CONNECTION_FAILED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONTENT_LENGTH_MISMATCH/u,
    "connection_closed",
  ],
  [/ERR_HTTP_RESPONSE_CODE_FAILURE/u, "empty_http_error"],
  [/ERR_CONNECTION_REFUSED|ERR_PROXY_/u, "connection_refused"],
  [/ERR_EMPTY_RESPONSE/u, "empty_response"],
];

/** The failure for a `net::ERR_…` text of Chromium. */
export function networkFailure(text: string): ApiError {
  if (text.includes("DNS_TIMED_OUT")) return new ApiError("name_not_resolved", { message: text });
  const row = networkErrors.find(([pattern]) => pattern.test(text));
  return new ApiError(row?.[1] ?? "network_error", {
    message: `The page did not load: ${text.slice(0, 100)}`,
  });
}

/** Whether a page could not be loaded because the proxy gave no connection: only the proxy knows why. */
export function isTunnelFailure(error: unknown): error is ApiError {
  return error instanceof ApiError && error.message.includes("ERR_TUNNEL_CONNECTION_FAILED");
}

/** The cause that marks the failure of a page that is a PDF. */
const fileUrl = Symbol("file");

/** The failure for a page that is a file of a media type. */
export function fileFailure(type: string): ApiError {
  const what = type === PDF ? "a PDF" : `a download of type ${type.slice(0, 80)}`;
  const cause = type === PDF ? fileUrl : undefined;
  return new ApiError("load_aborted", { message: `The URL is ${what}, not a page`, cause });
}

/** Whether an HTTP status says that no document comes. A 304 is about a copy that nobody here has. */
export function hasNoDocument(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** The failure for an address that answers without a document. */
export function noDocument(status: number): ApiError {
  return new ApiError("load_aborted", {
    message: `The URL is an HTTP ${status}, which has no page`,
  });
}

/** Whether a page could not be loaded because it is a PDF. */
export function isPdfFailure(error: unknown): boolean {
  return error instanceof ApiError && error.cause === fileUrl;
}

/** Reads from `Proxy-Status` (RFC 9209) why the egress proxy did not reach a destination. */
export function proxyFailure(status: string): ApiError | null {
  if (!status.startsWith("causey;")) return null;
  const reason = /error=(?<reason>[a-z_]+)/u.exec(status)?.groups?.["reason"] ?? "";
  const names: Readonly<Record<string, ErrorName>> = {
    destination_ip_prohibited: "blocked_url",
    dns_error: "name_not_resolved",
    connection_refused: "connection_refused",
    connection_timeout: "load_aborted",
    destination_unavailable: "address_unreachable",
  };
  return new ApiError(names[reason] ?? "network_error", {
    message:
      reason === "destination_ip_prohibited"
        ? "The URL's host is not a public address"
        : `The page did not load: ${reason}`,
  });
}

/** The failure of a rendering that finds no place in the queue, as its owner has too many there. */
export function tooManyRenderings(): ApiError {
  return new ApiError("render_rate_limited", {
    message: "Rate limit exceeded: too many renderings are waiting, retry later",
    headers: { "retry-after": "5" },
  });
}

/** Failures that a site may have got over a moment later. */
const transient: ReadonlySet<ErrorName> = new Set([
  "address_unreachable",
  "http2_error",
  "name_not_resolved",
  "connection_closed",
  "connection_refused",
  "network_error",
  "empty_response",
]);

/** Whether a failure is one of the network, which another attempt may not meet. */
export function isTransient(error: ApiError): boolean {
  if (transient.has(error.kind)) return true;
  // The number of a load that took too long is that of a download, too.
  const isLate = error.cause instanceof TransportError || /TIMED_OUT|_timeout/u.test(error.message);
  return error.kind === "load_aborted" && isLate;
}

/** Any failure of a rendering as one that is reported: what the browser says, in the platform's numbers. */
export function renderFailure(error: unknown): unknown {
  if (!(error instanceof CdpError)) return error;
  const text = error.message;
  if (isContextLoss(error)) return new ApiError("context_destroyed", { cause: error });
  if (
    /target closed|session with given id not found|crashed|no target with given id/iu.test(text)
  ) {
    return new ApiError("page_crashed", { cause: error });
  }
  if (error.method === "Page.captureScreenshot" || error.method === "Page.printToPDF") {
    return new ApiError("page_too_large", {
      message: `The page could not be captured: ${text.slice(0, 200)}`,
      cause: error,
    });
  }
  return error;
}

/** Whether a call failed because the page went to another document meanwhile. */
export function isContextLoss(error: unknown): boolean {
  return (
    error instanceof CdpError &&
    /execution context was destroyed|cannot find context|uniqueContextId not found|inspected target navigated|frame (?:was )?detached|no frame for given id/iu.test(
      error.message,
    )
  );
}

/** Whether an expression was ended because it ran longer than its `timeout`: V8's inspector says no more of it. */
export function isExpressionEnd(error: unknown): boolean {
  return (
    error instanceof CdpError &&
    error.method === "Runtime.evaluate" &&
    /^internal error$|execution was terminated/iu.test(error.message)
  );
}
