import type { Context, MiddlewareHandler, Next } from "hono";
import { matchedRoutes } from "hono/route";
import { ApiError } from "../http/api-error.ts";
import { answerFound, answerHits, type Host } from "./handle.ts";
import { findHits, type Hits, presentHits } from "./hits.ts";
import { routedPath } from "../http/mount-path.ts";
import { isDeclining } from "../http/routes.ts";
import { wholeRequest } from "../http/whole-request.ts";
import { below, compile, type Deprecations, type DeprecationsOptions } from "./options.ts";
import { pathStart } from "./translate/pathname.ts";

/**
 * Makes Hono middleware of the deprecations: put it before the routes of the API root.
 * Throws `ApiError` (`invalid_options`) for options or a table that cannot be right.
 *
 * @example
 * ```ts
 * import { defineDeprecation, deprecationsMiddleware } from "causey/deprecations";
 * import { Hono } from "hono";
 *
 * const orders = defineDeprecation({
 *   id: "orders-v1",
 *   on: "GET /v1/orders",
 *   since: "2026-01-01",
 *   sunset: "2026-07-01",
 *   use: "GET /v2/orders",
 * });
 * const app = new Hono();
 * app.use("*", deprecationsMiddleware({ entries: [orders], basePath: "", clock: "2026-08-01" }));
 * app.get("/v1/orders", (c) => c.json([]));
 * (await app.request("/v1/orders")).status; // → 410
 * ```
 */
export function deprecationsMiddleware(options: DeprecationsOptions): MiddlewareHandler {
  return compiledMiddleware(compile(options));
}

/** Does {@link deprecationsMiddleware} with options that are compiled already. */
export function compiledMiddleware(root: Deprecations): MiddlewareHandler {
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
  maybe: Hits,
  options: Deprecations,
): Promise<Response | undefined> {
  const present = await presentHits(c.req.raw, maybe, options);
  if (present === null) {
    await next();
    return undefined;
  }
  const { hits, known } = present;
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
    ask: known.ask,
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
 *
 * @example
 * ```ts
 * import { defineDeprecation, withDeprecations } from "causey/deprecations";
 *
 * const orders = defineDeprecation({
 *   id: "orders-v1",
 *   on: "GET /v1/orders",
 *   since: "2026-01-01",
 *   sunset: "2026-07-01",
 *   use: "GET /v2/orders",
 * });
 * const handle = withDeprecations({ entries: [orders], basePath: "", clock: "2026-08-01" });
 * const next = () => Promise.resolve(new Response("[]"));
 * (await handle(new Request("https://example.com/v1/orders"), next)).status; // → 410
 * ```
 */
export function withDeprecations(
  options: DeprecationsOptions,
): (request: Request, next: (request: Request) => Promise<Response>) => Promise<Response> {
  const root = compile(options);
  return (request, next) => {
    const maybe = findHits(request, root);
    if (maybe === null) return next(request);
    return answerFound(request, maybe, root, (known) => ({
      next,
      ask: known.ask ?? next,
      isRouted: known.isMounted ?? (() => null),
      mayBeRouted: () => true,
      isUnrouted: ({ status }) => status === 404 || status === 405,
    }));
  };
}

/** Kinds of the errors that `closeRoutes` throws for an unknown path or method. */
const UNROUTED: ReadonlySet<string> = new Set(["no_route", "method_not_allowed"]);

/** Whether anything but middleware, catch-alls and refusals of a method matched. */
function hasOwnRoute(c: Context): boolean {
  return matchedRoutes(c).some(
    ({ method, path, handler }) =>
      method !== "ALL" || (!path.endsWith("*") && !isDeclining(handler)),
  );
}
