import { hopByHop } from "../../http/hop-by-hop.ts";
import type { HeaderPair } from "../../ports.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";

/** Headers of an answer that describe its bytes. */
export const BODY_HEADERS: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "etag",
]);

/** Request headers that describe the client's connection to the gateway, not the request. */
const requestOnly: ReadonlySet<string> = new Set([
  "content-length",
  "expect",
  "forwarded",
  "host",
  "via",
  "x-real-ip",
  "cf-connecting-ip",
  "cf-ipcountry",
  "cf-ray",
  "cf-visitor",
  "cf-worker",
  "cdn-loop",
  // Aliases of gateway headers from before they had a prefix (docs/compatibility.md).
  "cf-cache-ttl",
  "cf-skip-cache",
]);

/**
 * Reply headers that would speak about the gateway's own origin: where else it is, how long it takes HTTPS only, what browsers
 * forget of it and report, and which pages may read it, which the option `origins` says.
 */
const replyOnly: ReadonlySet<string> = new Set([
  "alt-svc",
  "strict-transport-security",
  "clear-site-data",
  "nel",
  "report-to",
  "reporting-endpoints",
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-expose-headers",
  "access-control-max-age",
]);

/** The headers of a request as pairs with names in lower case: the one place that reads them. */
export function headerPairs(request: Request): readonly HeaderPair[] {
  return [...request.headers];
}

/** Whether a header belongs to the gateway's own family (docs/compatibility.md). */
export function isGatewayHeader(name: string): boolean {
  return name.startsWith("cf-aig-") || name.startsWith("gw-aig-");
}

/** The headers that may travel on to a provider. Credentials are the caller's to judge. */
export function requestHygiene(
  headers: readonly HeaderPair[],
  decoding: ContentDecoding,
): HeaderPair[] {
  const listed = connectionListed(headers);
  const kept: HeaderPair[] = [];
  for (const pair of headers) {
    const [name, value] = pair;
    if (hopByHop.has(name) || requestOnly.has(name) || isGatewayHeader(name)) continue;
    if (name.startsWith("x-forwarded-") || listed?.has(name) === true) continue;
    if (name !== "accept-encoding") kept.push(pair);
    else {
      // Only encodings that the log's observer can undo are asked for.
      const encodings = decoding.readable(value);
      if (encodings !== "") kept.push([name, encodings]);
    }
  }
  return kept;
}

/** The headers of a provider's answer that may travel on to the client. */
export function replyHygiene(headers: readonly HeaderPair[]): HeaderPair[] {
  const listed = connectionListed(headers);
  return headers.filter(
    ([name]) =>
      !hopByHop.has(name) &&
      !replyOnly.has(name) &&
      !isGatewayHeader(name) &&
      listed?.has(name) !== true,
  );
}

function connectionListed(headers: readonly HeaderPair[]): Set<string> | undefined {
  let names: Set<string> | undefined;
  for (const [name, value] of headers) {
    // The usual values name no header that could pass.
    if (name !== "connection" || value === "keep-alive" || value === "close") continue;
    names ??= new Set();
    for (const token of value.split(",")) names.add(token.trim().toLowerCase());
  }
  return names;
}

/** A request that frames its body in two ways is a smuggling attempt (docs/compatibility.md). */
export function hasAmbiguousFraming(headers: readonly HeaderPair[]): boolean {
  return (
    headerValue(headers, "transfer-encoding") !== null &&
    headerValue(headers, "content-length") !== null
  );
}

/** The first value of a header, or null. */
export function headerValue(headers: readonly HeaderPair[], name: string): string | null {
  for (const pair of headers) if (pair[0] === name) return pair[1];
  return null;
}

/** Pairs in the form that `Response` takes, which keeps repeated names (`set-cookie`) apart. */
export function toHeadersInit(pairs: readonly HeaderPair[]): [string, string][] {
  // A Response reads them only; the standard's type is wider than that.
  return pairs as [string, string][];
}

/** Whether a header's value can be a credential, by its name in lower case. */
export function isSecretHeader(header: string): boolean {
  return /auth|key|token|secret|cookie|password|credential|session|signature/.test(header);
}

/** Whether a header chooses whose account, or what in it, a provider charges, by its name in lower case. */
export function choosesAccount(header: string): boolean {
  return /organi[sz]ation|project|workspace|tenant|bill-to|(?:^|-)(?:account|org|team)(?:-|$)/.test(
    header,
  );
}
