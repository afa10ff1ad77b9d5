import { ApiError } from "../../http/api-error.ts";
import type { SiteWish } from "../../ports.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { invalid, withoutEffect } from "./source-errors.ts";
import type { SourceFields, SourceParams, WebCrawlerParams } from "./source-schema.ts";

/** A website that an instance follows. */
export interface SiteSource {
  readonly kind: "site";
  readonly id: string;
  readonly wish: SiteWish;
}

/** Pages of a website whose settings name no limit. */
const PAGES = 1000;
/** Headers that carry credentials: everyone who may read the instance sees its settings. */
const SECRET_HEADERS = new Set(["authorization", "cookie", "proxy-authorization", "x-api-key"]);
const AT = "source_params.web_crawler";

/** Returns the website that settings stand for. Throws by the name of the field, and 503 without a crawler. */
export function siteSource(
  source: string,
  { source_params: params, token_id: tokenId }: SourceFields,
  { crawler }: Pick<SearchOptions, "crawler">,
): SiteSource {
  if (tokenId != null) throw withoutEffect("token_id", "only a bucket is asked with a token");
  for (const field of ["prefix", "endpoint", "region", "r2_jurisdiction"] as const)
    if (params?.[field] != null)
      throw withoutEffect(`source_params.${field}`, "the source is a website");
  const url = URL.parse(source);
  if (url === null || !/^https?:$/u.test(url.protocol))
    throw invalid("source", "Expected the address of a website: https://example.com");
  if (crawler === undefined) {
    throw new ApiError("missing_capability", {
      message:
        "type: Websites are read by the rendering part, which is not here: search({ crawler }) or platformApi()",
    });
  }
  const wish = siteWish(url.href, params ?? {});
  crawler.check(wish);
  return { kind: "site", id: `web-crawler:${url.href}`, wish };
}

function siteWish(url: string, { web_crawler: web, ...params }: SourceParams): SiteWish {
  const { parse_type: type = "sitemap", parse_options: parse, discover_options: found } = web ?? {};
  if (found != null && type !== "discover")
    throw withoutEffect(`${AT}.discover_options`, 'it needs "parse_type": "discover"');
  const headers = headersOf(parse ?? {});
  return {
    url,
    ...scopeOf(type, found ?? {}),
    include: params.include_items ?? [],
    exclude: params.exclude_items ?? [],
    inBrowser: parse?.use_browser_rendering ?? false,
    ...(headers === null ? {} : { headers }),
  };
}

function scopeOf(
  type: NonNullable<WebCrawlerParams["parse_type"]>,
  found: NonNullable<WebCrawlerParams["discover_options"]>,
): Pick<SiteWish, "source" | "limit" | "depth" | "subdomains"> {
  if (found.include_external_links === true)
    throw withoutEffect(`${AT}.discover_options.include_external_links`, "a source is one site");
  return {
    source: type === "sitemap" ? "sitemaps" : (found.source ?? "all"),
    limit: found.limit ?? PAGES,
    depth: found.depth,
    subdomains: found.include_subdomains ?? false,
  };
}

/** Returns the headers of each request; null without any. */
function headersOf(
  parse: NonNullable<WebCrawlerParams["parse_options"]>,
): Readonly<Record<string, string>> | null {
  if (parse.include_images === true)
    throw withoutEffect(`${AT}.parse_options.include_images`, "images are not read");
  for (const field of ["content_selector", "specific_sitemaps"] as const)
    if (parse[field] !== undefined)
      throw withoutEffect(`${AT}.parse_options.${field}`, "whole pages of the site are read");
  const headers = parse.include_headers ?? {};
  const names = Object.keys(headers);
  const secret = names.find((name) => SECRET_HEADERS.has(name.toLowerCase()));
  if (secret !== undefined) {
    const why =
      "Everyone who may read the instance sees its settings: they cannot hold credentials";
    throw invalid(`${AT}.parse_options.include_headers`, `"${secret}": ${why}`);
  }
  if (names.length > 5)
    throw invalid(`${AT}.parse_options.include_headers`, "At most 5 are allowed");
  return names.length === 0 ? null : headers;
}
