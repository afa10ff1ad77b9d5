import { ApiError } from "../../http/api-error.ts";
import { type LinearPatterns, linearPatterns } from "../../text/linear-pattern.ts";

export type Matcher = (url: string) => boolean;

/** Patterns per list and characters per pattern that a request may bring. */
const PATTERN_LIMIT = 100;
const LENGTH_LIMIT = 1000;

/** Characters of a URL that patterns see. */
const URL_LIMIT = 2048;

/** Options of {@link compilePatterns}. */
export interface PatternOptions {
  /** The field to name in errors. */
  readonly field: string;
  /** Runs patterns on the host's own engine, with lookaround and backreferences, and without any bound on time. @default false */
  readonly unsafeRegex?: boolean;
}

/** Returns the function that compiles the lists of one caller, whose work counts together. */
export function patternCompiler(): typeof compilePatterns {
  const linear = linearPatterns();
  return (patterns, options) => compilePatterns(patterns, options, linear);
}

/**
 * Compiles `allowRequestPattern` / `rejectRequestPattern`. Literal forms `/body/flags`, the form without the
 * closing slash that the platform's documents show, and bare bodies are accepted. Matching takes linear
 * time: a hostile pattern cannot hold up other requests.
 *
 * @throws ApiError `invalid_request` for too many, too long or unsupported patterns
 */
export function compilePatterns(
  patterns: readonly string[],
  options: PatternOptions,
  linear: LinearPatterns = linearPatterns(),
): Matcher[] {
  if (patterns.length > PATTERN_LIMIT) {
    throw refuse(`${options.field}: At most ${PATTERN_LIMIT} patterns are allowed`);
  }
  return patterns.map((pattern) => compilePattern(pattern, options, linear));
}

/** Compiles one pattern, see {@link compilePatterns}. */
export function compilePattern(
  pattern: string,
  options: PatternOptions,
  linear: LinearPatterns = linearPatterns(),
): Matcher {
  if (pattern.length > LENGTH_LIMIT) {
    throw refuse(`${options.field}: A pattern may have at most ${LENGTH_LIMIT} characters`);
  }
  const { body, flags } = parseLiteral(pattern);
  const plain = plainMatcher(body, flags);
  if (plain !== null) return plain;
  return options.unsafeRegex === true
    ? nativeMatcher(body, flags, options)
    : linearMatcher({ body, flags }, options, linear);
}

/** Splits `/body/flags`, `/body` or `body`; a slash inside the body is not an end unless flags follow it. */
export function parseLiteral(pattern: string): { body: string; flags: string } {
  if (!pattern.startsWith("/")) return { body: pattern, flags: "" };
  const end = pattern.lastIndexOf("/");
  const tail = pattern.slice(end + 1);
  if (end > 0 && /^[dgimsuvy]*$/u.test(tail) && pattern[end - 1] !== "\\") {
    return { body: pattern.slice(1, end), flags: tail };
  }
  return { body: pattern.slice(1), flags: "" };
}

/** The most common patterns need no engine: plain text, optionally after `^` or before `$`. */
function plainMatcher(body: string, flags: string): Matcher | null {
  if (flags.includes("i") || flags.includes("m")) return null;
  const match =
    /^(?<start>\^?)(?<any>(?:\.\*)?)(?<text>(?:[\w\-:/%&=~,@ ]|\\[./?+\-:$^*()[\]{}|\\])*)(?<end>\$?)$/u.exec(
      body,
    );
  if (match?.groups === undefined) return null;
  const text = (match.groups["text"] ?? "").replaceAll(/\\(?<char>.)/gu, "$<char>");
  const anchored = match.groups["start"] === "^" && match.groups["any"] === "";
  const atEnd = match.groups["end"] === "$";
  if (anchored && atEnd) return (url) => url === text;
  if (anchored) return (url) => url.startsWith(text);
  if (atEnd) return (url) => url.endsWith(text);
  return (url) => url.includes(text);
}

function linearMatcher(
  { body, flags }: { readonly body: string; readonly flags: string },
  { field }: PatternOptions,
  linear: LinearPatterns,
): Matcher {
  try {
    const compiled = linear.compile(body, flags);
    return (url) => compiled.find(url.slice(0, URL_LIMIT));
  } catch (error) {
    const why = error instanceof TypeError ? error.message : "it is not supported";
    const hint = /\(\?<?[=!]|\\[1-9]|\\k</u.test(body)
      ? ": lookaround and backreferences are not supported"
      : `: ${why}`;
    throw refuse(`${field}: The pattern "${shorten(body)}" is not supported${hint}`, error);
  }
}

function nativeMatcher(body: string, flags: string, options: PatternOptions): Matcher {
  try {
    const compiled = new RegExp(body, flags.replaceAll(/[gy]/gu, ""));
    return (url) => compiled.test(url.slice(0, URL_LIMIT));
  } catch (error) {
    throw refuse(
      `${options.field}: The pattern "${shorten(body)}" is not a regular expression`,
      error,
    );
  }
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function refuse(message: string, cause?: unknown): ApiError {
  return new ApiError("invalid_request", { message, cause });
}
