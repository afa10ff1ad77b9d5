/**
 * The description of the API, for `platformApi({ openApi: apiDescription })`.
 *
 * @module
 */

import { type Context, Hono } from "hono";
import {
  builtText,
  type BuiltText,
  packText,
  packedText,
  type PackedText,
  unpacked,
} from "../http/built-text.ts";
import { closeRoutes } from "../http/routes.ts";
import type { Platform } from "../ports.ts";

/** Options of {@link apiDescription}; `platformApi()` gives them. */
export interface OpenApiOptions {
  readonly platform: Platform;
  /** The path prefix that a host removes before this app sees the request. */
  readonly mountPath?: string | undefined;
}

/** The page holds no script and makes no requests. */
function policyOf(styleHash: string): string {
  return [
    "default-src 'none'",
    `style-src '${styleHash}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The servers as {@link openApi} has them. */
const SERVERS = '"servers":[{"url":"/"}]';

/** The function {@link apiDescription}. */
export type ApiDescription = (options: OpenApiOptions) => Hono;

/**
 * Serves the description of the API at `/openapi.json`, and as a page at `/docs`. Both are public, as the package itself is.
 *
 * @example
 * ```ts
 * import { platformApi } from "causey";
 * import { memoryPlatform } from "causey/memory";
 * import { apiDescription } from "causey/openapi";
 *
 * const platform = await memoryPlatform();
 * const app = platformApi({ platform, openApi: apiDescription });
 * (await app.request("/openapi.json")).status; // → 200
 * await platform.close();
 * ```
 */
export function apiDescription({ platform, mountPath = "" }: OpenApiOptions): Hono {
  const app = new Hono();
  let page: Page | undefined;
  app.get("/openapi.json", async (c) => {
    const openApi = await description();
    const url = `${mountPath}${prefixOf(c, "/openapi.json")}`;
    const servers = `"servers":[{"url":${JSON.stringify(url === "" ? "/" : url)}}]`;
    const text = openApi.text.replace(SERVERS, () => servers);
    return builtText(c.req.raw, { ...openApi, text }, { "content-type": "application/json" });
  });
  app.get("/docs", async (c) => {
    // The page, not its promise: on Workers a request that leaves would keep others waiting.
    const { text, styleHash } = (page ??= await writtenPage());
    return packedText(c.req.raw, text, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policyOf(styleHash),
    });
  });
  closeRoutes(app, [], "api", platform);
  return app;
}

/** Loaded at the first request: it is as large as a capability. */
async function description(): Promise<BuiltText> {
  return unpacked((await import("./document.ts")).openApi);
}

/** The page of `/docs`. */
interface Page {
  readonly text: PackedText;
  readonly styleHash: string;
}

/** Writes the page from the description: kept beside it, it would be as large again. */
async function writtenPage(): Promise<Page> {
  const { descriptionPage, styleHash } = await import("./page.ts");
  const document: unknown = JSON.parse((await description()).text);
  return { text: await packText(descriptionPage(document)), styleHash: await styleHash() };
}

/** The path at which `app.route()` has put these routes. */
function prefixOf(c: Context, own: string): string {
  return c.req.path.slice(0, -own.length);
}
