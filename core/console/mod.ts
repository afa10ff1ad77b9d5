/**
 * The web console, for `platformApi({ console: webConsole })`.
 *
 * @module
 */

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { type Auth, logInByToken, principalOf } from "../auth/authorize.ts";
import { bearerToken } from "../auth/bearer.ts";
import type { Viewer } from "../auth/principal.ts";
import { noteResponse } from "../http/response-note.ts";
import { ApiError } from "../http/api-error.ts";
import { readJson } from "../http/fields/body.ts";
import { builtText, packedText, unpacked } from "../http/built-text.ts";
import { json } from "../http/envelope.ts";
import { routedPath } from "../http/mount-path.ts";
import { closeRoutes } from "../http/routes.ts";
import { sseResponse } from "../http/sse.ts";
import type { Platform } from "../ports.ts";
import { VERSION } from "../version.ts";
import { feed, type FeedSource } from "./feed.ts";
import { forwardToApi, type Handle } from "./forward.ts";
import { type ConsoleSession, type ConsoleSessions, sessions } from "./session.ts";

/** Options of {@link webConsole}; `platformApi()` gives them. */
export interface ConsoleOptions {
  readonly platform: Platform;
  readonly accountId: string;
  readonly auth: Auth;
  /**
   * The path prefix that a host removes: the cookie's path and the page's links include it, and the one that a host's
   * `route()` has put in front.
   */
  readonly mountPath?: string | undefined;
  readonly source: FeedSource;
  /** The app, which answers the API requests of the page. */
  readonly handle: Handle;
}

/** A header that proves the console's own page: a form, or another site's page, cannot send it without a preflight. */
const OWN_HEADER = "x-causey-console";

const login = v.union(
  [
    v.object({
      token: v.pipe(v.string(), v.minLength(1)),
      readOnly: v.optional(v.boolean(), false),
    }),
    v.object({
      code: v.pipe(v.string(), v.minLength(1)),
      readOnly: v.optional(v.boolean(), false),
    }),
  ],
  'expected "token", or "code" of a link that logs in',
);

/** The function {@link webConsole}. */
export type WebConsole = (options: ConsoleOptions) => Hono;

/**
 * The web console at `/console`: its page, logging in, one stream of live data, and `/console/api/*`, which passes the
 * page's requests to the API with the session's token.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { webConsole } from "causey/console";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const app = platformApi({ platform, console: webConsole });
 * ```
 */
export function webConsole(options: ConsoleOptions): Hono {
  const { platform, mountPath = "" } = options;
  const store = sessions(platform);
  const app = new Hono();
  app.get("/", (c) => {
    if (c.req.header("accept")?.includes("text/html") !== true) throw new ApiError("no_route");
    const { pathname } = new URL(c.req.url);
    return c.redirect(`${mountPath}${pathname.replace(/\/$/, "")}/console`, 302);
  });
  for (const name of Object.keys(types)) {
    const own = name === "" ? "/console" : `/console/${name}`;
    app.get(own, async (c) =>
      unlogged(await serveAsset(name, c.req.raw, placeOf(c, own, options))),
    );
  }
  const session = sessionOf(options, store);
  sessionRoutes(app, options, { store, session });
  app.get("/console/events", async (c) => {
    await session(c);
    // The end of the session ends the stream; any other failure breaks it, and the page opens it again.
    const viewer = (): Promise<Viewer | null> =>
      session(c).then(({ viewer: found }) => found, strangerOrThrow);
    return unlogged(sseResponse(feed(options.source, viewer, platform.system, c.req.raw.signal)));
  });
  app.all("/console/api/*", async (c) => {
    const { session: found } = await session(c);
    const { pathname } = new URL(c.req.url);
    const above = `${routedPath(c, "/console/api/*")}/console/api`;
    return forwardToApi(c.req.raw, pathname.slice(above.length), found, options.handle);
  });
  closeRoutes(app, ["/console/*"], "api", platform);
  return app;
}

/** The path at which a browser finds the console; `own` is the route of the request as this app calls it. */
function placeOf(c: Context, own: string, { mountPath = "" }: ConsoleOptions): string {
  return `${mountPath}${routedPath(c, own)}/console`;
}

/** A session, and the viewer that its token stands for now. */
interface ViewerSession {
  readonly session: ConsoleSession;
  readonly viewer: Viewer;
}

type FindSession = (c: Context) => Promise<ViewerSession>;

function strangerOrThrow(error: unknown): null {
  if (error instanceof ApiError && error.kind === "unauthorized") return null;
  throw error;
}

/**
 * Finds the session of a request; throws 403 for a request from another page than the console's, 401 without a session.
 */
function sessionOf({ auth }: ConsoleOptions, store: ConsoleSessions): FindSession {
  return async (c) => {
    checkOwn(c);
    if (auth === "off") {
      const session = { id: null, token: null, readOnly: false, expires: Number.MAX_SAFE_INTEGER };
      return { session, viewer: "host" };
    }
    const found = await store.read(c.req.raw);
    const token = found?.token?.reveal();
    // A revoked token ends its sessions.
    const viewer = token === undefined ? null : await principalOf(auth, token);
    if (found !== null && viewer !== null) return { session: found, viewer };
    throw new ApiError("unauthorized", { message: "Log in to the console" });
  };
}

function checkOwn(c: Context): void {
  if (c.req.header(OWN_HEADER) !== undefined) return;
  throw new ApiError("forbidden", {
    message: `Only the console's own page may call this route: it sends the header ${OWN_HEADER}`,
  });
}

interface SessionRoutesDeps {
  readonly store: ConsoleSessions;
  readonly session: FindSession;
}

function sessionRoutes(
  app: Hono,
  options: ConsoleOptions,
  { store, session }: SessionRoutesDeps,
): void {
  const { auth, platform } = options;
  const own = "/console/session";
  // A missing session is a normal answer here: the page asks before it knows.
  app.get(own, async (c) => {
    const found = await session(c).catch(strangerOrThrow);
    const isCounted = routedPath(c, own) === "";
    return unlogged(json(found && { ...facts(found.session, options), isCounted }));
  });
  app.post(own, async (c) => {
    checkOwn(c);
    if (auth === "off") return json({});
    const body = await readJson(c, login, { platform });
    const isLink = "code" in body;
    const token = isLink ? (await store.takeCode(body.code))?.reveal() : body.token;
    if (token === undefined) auth.logins?.failed(c.req.raw);
    if (token === undefined || (await logInByToken(auth, token, c.req.raw)) === null)
      throw refusal(isLink);
    const { readOnly } = body;
    const path = placeOf(c, own, options);
    const cookie = await store.open({ token, readOnly, path, request: c.req.raw });
    return json({}, 200, { "set-cookie": cookie, "cache-control": "no-store" });
  });
  app.delete(own, async (c) => {
    await store.end((await session(c)).session);
    return json({}, 200, { "set-cookie": store.closing(placeOf(c, own, options), c.req.raw) });
  });
  app.post("/console/links", async (c) => {
    const token = bearerToken(c.req.header("authorization") ?? null);
    const principal =
      token === null || auth === "off" ? null : await logInByToken(auth, token, c.req.raw);
    if (token === null || principal === null) throw new ApiError("unauthorized");
    const path = placeOf(c, "/console/links", options);
    const link = `${path}#login=${await store.newCode(token, principal.id)}`;
    return json({ path: link }, 200, { "cache-control": "no-store" });
  });
}

function refusal(isLink: boolean): ApiError {
  return new ApiError("unauthorized", {
    message: isLink ? "This link was used already, or is too old" : "This token is not valid",
  });
}

/** Keeps the page's polling out of the log and of the counts. */
function unlogged(response: Response): Response {
  return noteResponse(response, { isLogged: true });
}

/** Facts about the session and the server, for the page. */
export interface SessionFacts extends Pick<Platform, "runtime" | "capabilities"> {
  readonly account: string;
  readonly readOnly: boolean;
  readonly version: string;
  /** Whether the host authenticates; the page then shows neither logins nor tokens. */
  readonly isHosted: boolean;
  /** Whether the server's own requests are counted and listed: not below `route()` of a host, which answers them itself. */
  readonly isCounted: boolean;
}

function facts(
  { readOnly }: ConsoleSession,
  { platform, accountId, auth }: ConsoleOptions,
): Omit<SessionFacts, "isCounted"> {
  const { runtime, capabilities } = platform;
  return {
    account: accountId,
    readOnly,
    runtime,
    capabilities,
    version: VERSION,
    isHosted: auth === "off",
  };
}

/** Nothing but the console's own files: no other origin, no inline script, no frame around it. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-src blob:",
  "object-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const types: Readonly<Record<string, string>> = {
  "": "text/html; charset=utf-8",
  portal: "text/html; charset=utf-8",
  "app.js": "text/javascript; charset=utf-8",
  "portal.js": "text/javascript; charset=utf-8",
  "app.css": "text/css; charset=utf-8",
};

/** One file of the console; `path` is where it is mounted. */
async function serveAsset(name: string, request: Request, path: string): Promise<Response> {
  // Loaded at the first request: it is as large as a capability.
  const { assets } = await import("./assets.ts");
  const asset = assets[name];
  if (asset === undefined) throw new ApiError("no_route");
  const type = types[name] ?? "text/plain";
  const headers = { "content-type": type, "content-security-policy": CSP };
  if (!type.startsWith("text/html")) return packedText(request, asset, headers);
  const { tag, text } = await unpacked(asset);
  return builtText(request, { tag, text: text.replaceAll("/console/", `${path}/`) }, headers);
}
