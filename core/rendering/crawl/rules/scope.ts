import { invalidRequest } from "../../../http/api-error.ts";
import type { AllowHosts } from "../../../net/allow-hosts.ts";
import { checkUrl } from "../../../net/check-url.ts";
import { globParts, matchGlob, WILDCARDS } from "../../../net/glob.ts";

/** Which addresses a crawl takes for one page. */
export type IdentityOptions = {
  /** True for all parameters; else names, in which `*` stands for any text. */
  readonly ignoreQueryParameters?: boolean | readonly string[] | undefined;
  /** Whether `http`, `www.` and the file name of an index make no difference. */
  readonly deduplicateSimilarURLs?: boolean | undefined;
};

/** Which addresses a crawl goes to: the field `options` of its body. */
export type ScopeOptions = IdentityOptions & {
  readonly includeExternalLinks?: boolean | undefined;
  readonly includeSubdomains?: boolean | undefined;
  readonly includePatterns?: readonly string[] | undefined;
  readonly excludePatterns?: readonly string[] | undefined;
  /** Whether links that a page asks not to follow are ignored. */
  readonly obeyNofollow?: boolean | undefined;
};

/** Decides about addresses that a crawl finds. */
export interface CrawlScope {
  /** Whether a crawl whose start is on `homes` goes there. */
  holds(url: URL, homes: readonly string[]): boolean;
}

/** Characters of an address that a crawl goes to. */
const ADDRESS = 2048;

/** Wildcards of all patterns: each address is held against all. */
const WILDCARDS_IN_ALL = 200;

/** @throws ApiError `invalid_request` naming a pattern that cannot be */
export function compileScope(options: ScopeOptions, allow: AllowHosts): CrawlScope {
  const included = compileUrlPatterns(options.includePatterns ?? [], "options.includePatterns");
  const excluded = compileUrlPatterns(options.excludePatterns ?? [], "options.excludePatterns");
  const all = [...(options.includePatterns ?? []), ...(options.excludePatterns ?? [])].join(" ");
  if ((all.match(/\*+/gu) ?? []).length > WILDCARDS_IN_ALL) {
    throw invalidRequest(
      `options: All patterns may have at most ${WILDCARDS_IN_ALL} wildcards together`,
    );
  }
  const some = (patterns: readonly UrlPattern[], url: URL): boolean =>
    patterns.some((matches) => matches(url));
  return {
    holds(url, homes) {
      const isNear =
        options.includeExternalLinks === true ||
        homes.some((home) => isSameSite(url, home, options.includeSubdomains === true));
      if (!isNear || !checkUrl(url, allow).ok) return false;
      return (included.length === 0 || some(included, url)) && !some(excluded, url);
    },
  };
}

/** Whether two hosts are one site: `www.example.com` belongs to `example.com` where subdomains count. */
function isSameSite({ host, hostname }: URL, home: string, subdomains: boolean): boolean {
  if (host === home) return true;
  if (!subdomains) return false;
  const site = home.replace(/:\d+$/u, "").replace(/^www\./u, "");
  return hostname === site || hostname.endsWith(`.${site}`);
}

/** Returns the address of a link in the form in which a crawl knows it; null for a link to anything but a page. */
export function pageAddress(link: string): URL | null {
  const url = URL.parse(link);
  if (url === null || !/^https?:$/u.test(url.protocol)) return null;
  url.hash = "";
  return url.href.length > ADDRESS ? null : url;
}

/** Patterns of one list, and characters of one pattern. */
const PATTERNS = 100;
const LENGTH = 1000;

/** Decides whether a URL matches. */
type UrlPattern = (url: URL) => boolean;

/**
 * Compiles `includePatterns` or `excludePatterns`: `*` stands for any text without a slash, `**` for any text. A pattern
 * is of a whole address; one that begins with `/` is of path and query.
 *
 * @throws ApiError `invalid_request` naming the field
 */
export function compileUrlPatterns(patterns: readonly string[], field: string): UrlPattern[] {
  if (patterns.length > PATTERNS)
    throw invalidRequest(`${field}: At most ${PATTERNS} patterns are allowed`);
  return patterns.map((pattern, index) => compile(pattern, `${field}.${index}`));
}

function compile(pattern: string, field: string): UrlPattern {
  if (pattern.length > LENGTH)
    throw invalidRequest(`${field}: A pattern may have at most ${LENGTH} characters`);
  // Anything else could match no address, and the crawl would find nothing.
  if (!/^(?:https?:\/\/|\/|\*)/iu.test(pattern)) {
    throw invalidRequest(
      `${field}: "${pattern.slice(0, 80)}" matches no address: begin with http://, https://, / or *`,
    );
  }
  const parts = globParts(pattern);
  if (parts.filter((part) => typeof part !== "string").length > WILDCARDS)
    throw invalidRequest(`${field}: A pattern may have at most ${WILDCARDS} wildcards`);
  const isPath = pattern.startsWith("/");
  return (url) => matchGlob(parts, isPath ? url.pathname + url.search : withoutFragment(url));
}

/** Returns an address as patterns see it. */
function withoutFragment({ href, hash }: URL): string {
  return hash === "" ? href : href.slice(0, href.length - hash.length);
}
