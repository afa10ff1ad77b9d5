import type { Context } from "hono";
import { routePath } from "hono/route";

/**
 * The raw, still encoded path segment that a route parameter matched. Hono's own `param()` decodes
 * leniently, and a name must be decoded strictly and once.
 */
export function rawSegment(c: Context, parameter: string): string {
  const index = routePath(c).split("/").indexOf(`:${parameter}`);
  return rawSegments(c.req.raw.url)[index] ?? "";
}

/** The raw segments of a URL's path; the first is the empty one before the first slash. */
export function rawSegments(url: string): string[] {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return [""];
  return url
    .slice(start)
    .replace(/[?#].*$/s, "")
    .split("/");
}
