import type { Context, Hono } from "hono";
import { routePath } from "hono/route";
import { findTargetHandler } from "hono/utils/handler";
import { attached } from "./attached.ts";
import { responseNote, noteResponse } from "./response-note.ts";
import { ApiError, storageFailure } from "./api-error.ts";
import { pathHint } from "../text/path-hint.ts";
import { errorResponse, type ErrorShape } from "./envelope.ts";
import type { Log, System } from "../ports.ts";
import { SqlError } from "../sql/sql-error.ts";

export interface RouteDeps {
  readonly system: System;
  readonly log: Log;
}

/**
 * Ends a capability's app: any throw becomes a response in `shape`. A path below `prefix` without a route answers 404,
 * or 405 with `Allow` when another method has a route there. Call it after all routes: under `route()` Hono ignores a
 * sub-app's `notFound`.
 */
export function closeRoutes(
  app: Hono,
  prefixes: readonly string[],
  shape: ErrorShape,
  deps: RouteDeps,
): void {
  const methodsByPath = new Map<string, Set<string>>();
  for (const route of app.routes) {
    const methods = methodsByPath.get(route.path) ?? new Set();
    methodsByPath.set(route.path, methods.add(route.method));
  }
  for (const [path, methods] of methodsByPath) {
    if (methods.has("ALL")) continue;
    if (methods.has("GET")) methods.add("HEAD");
    const decline = (c: Context): never => {
      throw methodNotAllowed([...methods].toSorted(), c.req.method);
    };
    declining.set(decline, true);
    app.all(path, decline);
  }
  const templates = [...methodsByPath.keys()].filter((path) => !path.includes("*"));
  for (const prefix of prefixes) {
    app.all(prefix, (c) => {
      throw noRoute(c, templates);
    });
  }
  app.onError((error, c) => onError(error, c, shape, deps));
}

const declining = attached<boolean>("declining-handler");

/** Whether a handler is that of {@link closeRoutes} for the methods that a path does not take. */
export function isDeclining(handler: (...parameters: never) => unknown): boolean {
  return declining.get(findTargetHandler(handler)) === true;
}

/** The 405 for a path that takes some methods only. */
export function methodNotAllowed(taken: readonly string[], method: string): ApiError {
  const allow = taken.join(", ");
  return new ApiError("method_not_allowed", {
    message: `Method not allowed: this path takes ${allow}, not ${method.slice(0, 20)}`,
    headers: { allow },
  });
}

/** The 404 for a request that no route took; it names the path of a route that was probably meant. */
export function noRoute(c: Context, templates: readonly string[] = []): ApiError {
  return noRouteBut(c, pathHint(c.req.path, templates));
}

/** The same with a hint of the caller's. */
export function noRouteBut(c: Context, hint: string): ApiError {
  return new ApiError("no_route", {
    message: `No route for ${c.req.method} ${safePath(c.req.path)}${hint}`,
  });
}

/** Turns an error into a response; anything but an `ApiError` is logged and answered 500 with the request id. */
export function onError(error: unknown, c: Context, shape: ErrorShape, deps: RouteDeps): Response {
  if (error instanceof ApiError) return errorResponse(error, shape);
  const refused = storageFailure(error);
  if (refused !== null && error instanceof SqlError) {
    const { reason, message, isReported } = error;
    if (!isReported) deps.log("error", "The database took no write", { reason, error: message });
    return errorResponse(refused, shape);
  }
  const id = deps.system.id();
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  deps.log("error", "Unhandled error", {
    request_id: id,
    method: c.req.method,
    // The route instead of the path: callers put names into paths, and tokens.
    route: routePath(c),
    error: text,
    stack: error instanceof Error ? error.stack : undefined,
  });
  const failure = new ApiError("internal", { message: `Internal error, request id ${id}` });
  const response = errorResponse(failure, shape, { "x-request-id": id });
  return noteResponse(response, { ...responseNote(response), requestId: id });
}

/** A path for messages and logs: bounded, so that a huge URL cannot fill either. */
function safePath(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}
