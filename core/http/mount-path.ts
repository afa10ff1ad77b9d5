import type { Context } from "hono";
import { routePath } from "hono/route";
import { invalidOptions } from "./api-error.ts";

/** Whether a text can be the option `mountPath`: it stands in addresses and in `Link` headers as it is. */
export function isMountPath(text: string): boolean {
  return text.length <= 1024 && /^(?:\/[\w.~!$&'()*+;=:@%-]+)+$/.test(text);
}

/** Checks the option `mountPath`, which is empty by default; throws `invalid_options` for anything but a path. */
export function checkMountPath(path: string | undefined): string {
  if (path === undefined || path === "") return "";
  if (isMountPath(path)) return path;
  throw invalidOptions(
    `mountPath: expected a path such as "/platform", without a slash at its end, got "${path.slice(0, 64)}"`,
  );
}

/**
 * The part of a request's path at which a host has put the app by `route()`; `own` is what this app calls the route.
 * The host's part of the route may hold parameters: it is as many segments of the request.
 */
export function routedPath(c: Context, own: string): string {
  const route = routePath(c);
  if (route.length === own.length || !route.endsWith(own)) return "";
  const { url } = c.req.raw;
  const depth = route.slice(0, -own.length).split("/").length;
  return url
    .slice(url.indexOf("/", url.indexOf("://") + 3))
    .split("/", depth)
    .join("/");
}

/**
 * The address under which the caller reached the server: a proxy that ends TLS says `https` in `X-Forwarded-Proto`. A
 * client that forges this header changes only its own answer.
 */
export function publicUrl({ url, headers }: Request): string {
  const [scheme = ""] = (headers.get("x-forwarded-proto") ?? "").split(",", 1);
  return scheme.trim().toLowerCase() === "https" ? url.replace(/^http:/, "https:") : url;
}
