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
const AT = "source_params.web_crawler";

/**
 * Returns the website that settings stand for, but for the headers that they hide. Throws by the name of the field, and 503
 * without a crawler.
 */
export function siteSource(
  source: string,
  { source_params: params, token_id: tokenId }: SourceFields,
  { crawler }: Pick<SearchOptions, "crawler">,
): SiteSource {
  if (tokenId != null) throw withoutEffect("token_id", "only a bucket is asked with a token");
  for (const field of ["prefix", "endpoint", "region", "r2_jurisdiction"] as const)
    if (params?.[field] != null)
      throw withoutEffect(`source_params.${field}`, "the source is a website");
  const url = siteAddress(source);
  if (url === null)
    throw invalid("source", "expected the address of a website: https://example.com");
  if (crawler === undefined) {
    throw new ApiError("missing_capability", {
      message:
        "type: Websites are read by the rendering part, which is not here: search({ crawler }) or platformApi()",
    });
  }
  const wish = siteWish(url, params ?? {});
  return { kind: "site", id: `web-crawler:${url.href}`, wish };
}

/** Reads the address of a website, which may be a domain alone, as the hosted API takes it; null for anything else. */
export function siteAddress(source: string): URL | null {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//iu.test(source) ? source : `https://${source}`);
  return url !== null && /^https?:$/u.test(url.protocol) ? url : null;
}

function siteWish(url: URL, { web_crawler: web, ...params }: SourceParams): SiteWish {
  const { parse_type: type = "sitemap", parse_options: parse, discover_options: found } = web ?? {};
  if (found != null && type !== "discover")
    throw withoutEffect(`${AT}.discover_options`, 'it needs "parse_type": "discover"');
  if (parse?.include_images === true)
    throw withoutEffect(`${AT}.parse_options.include_images`, "images are not read");
  return {
    url: url.href,
    ...scopeOf(type, found ?? {}),
    include: params.include_items ?? [],
    exclude: params.exclude_items ?? [],
    inBrowser: parse?.use_browser_rendering ?? false,
    headers: parse?.include_headers,
    parts: parse?.content_selector,
    sitemaps: sitemapsOf(url, type, parse?.specific_sitemaps),
  };
}

/** Returns the sitemaps that are read, by whole addresses: a path is one of the website. */
function sitemapsOf(
  site: URL,
  type: WebCrawlerParams["parse_type"],
  given: readonly string[] | undefined,
): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const field = `${AT}.parse_options.specific_sitemaps`;
  if (type !== "sitemap") throw withoutEffect(field, 'it needs "parse_type": "sitemap"');
  return given.map((one, index) => {
    const url = URL.parse(one, site);
    if (url === null || !/^https?:$/u.test(url.protocol))
      throw invalid(`${field}.${index}`, "expected the address of a sitemap, or its path");
    return url.href;
  });
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
