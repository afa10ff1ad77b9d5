import type { Context, MiddlewareHandler } from "hono";
import { ApiError } from "../api-error.ts";
import { setAnswerHeader } from "../response-note.ts";
import { isWebSocketUpgrade } from "./websocket-upgrade.ts";

/** Seconds that browsers keep the answer to a preflight: Chromium's maximum. */
const REMEMBERED_S = 7200;
/** The header names that a page asks for: field names (RFC 9110 section 5.1), echoed only in this form. */
const FIELD_NAMES = /^[\w!#$%&'*+.^`|~-]+(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]+)*$/;
const FIELD_NAMES_LIMIT = 1024;

/**
 * Allows pages of the listed origins to use the routes over HTTP (Fetch standard, section 3.3). Their preflights are
 * answered without a token, because browsers send none; every other request passes, and its answer, errors included, is
 * readable for the page. Pages of other origins get no CORS headers. WebSockets are not subject to CORS.
 */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler {
  const allowed = new Set(origins);
  return allowOriginsBy((origin) => allowed.has(origin));
}

/** Does {@link allowOrigins} where the request decides which origins are listed. */
export function allowOriginsBy(
  isListed: (origin: string, c: Context) => boolean,
): MiddlewareHandler {
  return async (c, next) => {
    const request = c.req.raw;
    const origin = request.headers.get("origin");
    if (isWebSocketUpgrade(request)) return next();
    const isAllowed = origin !== null && isListed(origin, c);
    if (isAllowed && isPreflight(request)) {
      return new Response(null, { status: 204, headers: preflightHeaders(request, origin) });
    }
    await next();
    setAnswerHeader(c, "vary", "Origin", "append");
    // A header that the route itself has set is kept.
    if (!isAllowed || c.res.headers.has("access-control-allow-origin")) return undefined;
    setAnswerHeader(c, "access-control-allow-origin", origin);
    setAnswerHeader(c, "access-control-expose-headers", "*");
    return undefined;
  };
}

/** The 403 for a page of another origin than those allowed, which CORS does not keep from connecting: browsers always send theirs. */
export function refusedOrigin({ headers }: Request, origins: readonly string[]): ApiError | null {
  const origin = headers.get("origin");
  if (origin === null || origins.includes(origin)) return null;
  return new ApiError("forbidden", { message: "Pages of this origin may not use this server" });
}

/** Throws `TypeError` on text that no browser sends as an origin: it would never match. */
export function checkOrigins(origins: readonly string[]): void {
  for (const origin of origins) {
    if (URL.parse(origin)?.origin === origin) continue;
    throw new TypeError(
      `"${origin.slice(0, 64)}" is not an origin: write it as a browser does, like "https://app.example"`,
    );
  }
}

function isPreflight(request: Request): boolean {
  return request.method === "OPTIONS" && request.headers.has("access-control-request-method");
}

function preflightHeaders(request: Request, origin: string): Record<string, string> {
  const asked = request.headers.get("access-control-request-headers") ?? "";
  const fits = asked.length <= FIELD_NAMES_LIMIT && FIELD_NAMES.test(asked);
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    "access-control-allow-headers": fits ? asked : "authorization, content-type, last-event-id",
    "access-control-max-age": String(REMEMBERED_S),
    vary: "Origin, Access-Control-Request-Headers",
  };
}
