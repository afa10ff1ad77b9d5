import { noteResponse } from "../http/response-note.ts";
import { ApiError } from "../http/api-error.ts";
import type { ConsoleSession } from "./session.ts";

/** Handles a request as the app does. */
export type Handle = (request: Request) => Response | Promise<Response>;

/** The routes that the console may ask for: the platform's own, and never itself. */
const ALLOWED = /^\/(?:client\/v4|v1|webhooks|agents)\/|^\/(?:readyz|metrics|openapi\.json)$/;
/** Headers of a page's request that are not meant for the API. */
const DROPPED =
  /^(?:cookie|authorization|cf-aig-authorization|host|origin|referer|connection|content-length|transfer-encoding|upgrade|x-causey-console|sec-.*|proxy-.*|accept-encoding)$/;

/**
 * Makes a request of the console's page with the session's token. The API itself knows no cookie, so that no page of
 * another site can use one.
 */
export async function forwardToApi(
  request: Request,
  path: string,
  session: ConsoleSession,
  handle: Handle,
): Promise<Response> {
  const { origin, search } = new URL(request.url);
  const target = new URL(`${path}${search}`, origin);
  if (target.origin !== origin || !ALLOWED.test(target.pathname))
    throw new ApiError("no_route", { message: "The console has no such route" });
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (session.readOnly && !isRead)
    throw new ApiError("forbidden", {
      message: 'This session of the console is read-only: log in again without "Read only"',
    });
  const headers = new Headers();
  for (const [name, value] of request.headers) if (!DROPPED.test(name)) headers.set(name, value);
  setToken(headers, target.pathname, session);
  const { method, signal } = request;
  // `duplex` is not in TypeScript's RequestInit; Node asks for it when the body is a stream.
  const body = isRead ? {} : { body: request.body, duplex: "half" };
  const init = { method, headers, signal, ...body } as RequestInit;
  const response = await handle(new Request(target, init));
  const responseHeaders = new Headers(response.headers);
  responseHeaders.delete("set-cookie");
  responseHeaders.set("x-content-type-options", "nosniff");
  // If a browser ever shows an answer as a page of its own, nothing in it runs.
  responseHeaders.set("content-security-policy", "sandbox; default-src 'none'");
  responseHeaders.set("cache-control", "no-store");
  const passed = new Response(response.body, { status: response.status, headers: responseHeaders });
  return noteResponse(passed, { isLogged: true });
}

/** The gateway forwards `Authorization` to providers, and inbound webhooks are signed, not authorised. */
function setToken(headers: Headers, path: string, { token }: ConsoleSession): void {
  if (token === null || path.startsWith("/webhooks/")) return;
  const name = path.startsWith("/v1/") ? "cf-aig-authorization" : "authorization";
  headers.set(name, `Bearer ${token.reveal()}`);
}
