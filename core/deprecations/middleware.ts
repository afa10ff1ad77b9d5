import type { Context, MiddlewareHandler, Next } from "hono";
import { matchedRoutes } from "hono/route";
import { ApiError } from "../http/api-error.ts";
import { answerHits, findHits, type Hits, type Host } from "./handle.ts";
import { routedPath } from "../http/mount-path.ts";
import { wholeRequest } from "../http/whole-request.ts";
import { below, compile, type Deprecations, type DeprecationsOptions } from "./options.ts";
import { pathStart } from "./pathname.ts";

/**
 * The deprecations as Hono middleware: put it before the routes of the API root.
 * Throws `ApiError` (`invalid_options`) for options or a table that cannot be right.
 */
export function deprecationsMiddleware(options: DeprecationsOptions): MiddlewareHandler {
  const root = compile(options);
  return (c, next) => {
    const hits = findHits(c.req.raw, root);
    if (hits !== null) return handleHits(c, next, hits, root);
    const mounted = mountedAt(c, root);
    const deeper = mounted === null ? null : findHits(c.req.raw, mounted);
    return mounted === null || deeper === null ? next() : handleHits(c, next, deeper, mounted);
  };
}

/** The options below a path at which a host has put the app by `route()`: there the API root lies deeper. Null elsewhere. */
function mountedAt(c: Context, known: Deprecations): Deprecations | null {
  const { basePath } = known.place;
  const { url } = c.req.raw;
  if (basePath !== "" && url.startsWith(basePath, pathStart(url))) return null;
  const path = routedPath(c, `${basePath}/*`);
  return path === "" ? null : { ...known, place: below(path, known.place) };
}

async function handleHits(
  c: Context,
  next: Next,
  hits: Hits,
  known: Deprecations,
): Promise<Response | undefined> {
  const host: Host = {
    async next(request) {
      if (request !== c.req.raw) {
        c.req.raw = request;
        // Earlier middleware may have cached the body of the old request.
        c.req.bodyCache = {};
      }
      await next();
      return c.res;
    },
    isRouted: known.isMounted ?? (() => null),
    mayBeRouted: () => hasOwnRoute(c),
    isUnrouted: ({ status }) =>
      c.error instanceof ApiError ? UNROUTED.has(c.error.kind) : status === 404 && !hasOwnRoute(c),
  };
  const response = await answerHits(await wholeRequest(c.req), hits, host, known);
  if (!c.finalized) return response;
  if (response !== c.res) {
    // Assigning over a response merges the old headers into the new one; a cleared one is replaced.
    c.res = undefined;
    c.res = response;
  }
  return undefined;
}

/**
 * The same for any handler: `next` answers requests that are not refused. Without `isMounted`, an answer 404 or 405
 * means that the host has no such route.
 */
export function withDeprecations(
  options: DeprecationsOptions,
): (request: Request, next: (request: Request) => Promise<Response>) => Promise<Response> {
  const known = compile(options);
  return (request, next) => {
    const hits = findHits(request, known);
    if (hits === null) return next(request);
    const host: Host = {
      next,
      isRouted: known.isMounted ?? (() => null),
      mayBeRouted: () => true,
      isUnrouted: ({ status }) => status === 404 || status === 405,
    };
    return answerHits(request, hits, host, known);
  };
}

/** Kinds of the errors that `closeRoutes` throws for an unknown path or method. */
const UNROUTED: ReadonlySet<string> = new Set(["no_route", "method_not_allowed"]);

/** Whether anything but middleware and catch-alls matched. */
function hasOwnRoute(c: Context): boolean {
  return matchedRoutes(c).some(({ method, path }) => method !== "ALL" || !path.endsWith("*"));
}
