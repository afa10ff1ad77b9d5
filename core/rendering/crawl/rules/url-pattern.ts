import { ApiError } from "../../../http/api-error.ts";
import { globParts, matchGlob, WILDCARDS } from "../../../net/glob.ts";

/** Patterns of one list, and characters of one pattern. */
const PATTERNS = 100;
const LENGTH = 1000;

/** Decides whether a URL matches. */
export type UrlPattern = (url: URL) => boolean;

/**
 * Compiles `includePatterns` or `excludePatterns`: `*` stands for any text without a slash, `**` for any text. A pattern
 * is of a whole address; one that begins with `/` is of path and query.
 *
 * @throws ApiError `invalid_request` naming the field
 */
export function compileUrlPatterns(patterns: readonly string[], field: string): UrlPattern[] {
  if (patterns.length > PATTERNS)
    throw refuse(`${field}: At most ${PATTERNS} patterns are allowed`);
  return patterns.map((pattern, index) => compile(pattern, `${field}.${index}`));
}

function compile(pattern: string, field: string): UrlPattern {
  if (pattern.length > LENGTH)
    throw refuse(`${field}: A pattern may have at most ${LENGTH} characters`);
  // Anything else could match no address, and the crawl would find nothing.
  if (!/^(?:https?:\/\/|\/|\*)/iu.test(pattern)) {
    throw refuse(
      `${field}: "${pattern.slice(0, 80)}" matches no address: begin with http://, https://, / or *`,
    );
  }
  const parts = globParts(pattern);
  if (parts.filter((part) => typeof part !== "string").length > WILDCARDS)
    throw refuse(`${field}: A pattern may have at most ${WILDCARDS} wildcards`);
  const isPath = pattern.startsWith("/");
  return (url) => matchGlob(parts, isPath ? url.pathname + url.search : withoutFragment(url));
}

/** An address as patterns see it. */
function withoutFragment({ href, hash }: URL): string {
  return hash === "" ? href : href.slice(0, href.length - hash.length);
}

function refuse(message: string): ApiError {
  return new ApiError("invalid_request", { message });
}
