import { decodedValue } from "./own-tokens.ts";

/** The part of a URL behind a number of leading path segments, exactly as the client wrote it. */
export interface RawTail {
  /** Without a leading slash, neither decoded nor re-encoded. */
  readonly rest: string;
  /** With its question mark, or empty. */
  readonly query: string;
}

/**
 * Cuts the tail out of an absolute URL behind `segments` path segments. Parsing and printing a URL
 * would change escapes, and a provider that signs or compares paths would notice.
 */
export function rawTail(url: string, segments: number): RawTail {
  const hash = url.indexOf("#");
  const whole = hash === -1 ? url : url.slice(0, hash);
  const question = whole.indexOf("?");
  const path = question === -1 ? whole : whole.slice(0, question);
  const query = question === -1 ? "" : whole.slice(question);
  let at = path.indexOf("/", path.indexOf("://") + 3);
  for (let i = 0; i < segments && at !== -1; i++) at = path.indexOf("/", at + 1);
  return { rest: at === -1 ? "" : path.slice(at + 1), query };
}

/** Ends of the names of query parameters that carry credentials with some provider; better one too many. */
const SECRET_PARAMETERS =
  /(?:key|token|secret|signature|password|passwd|pwd|credentials?|auth|authorization|jwt|bearer|session|cookie|(?:^|[-_.])(?:sig|sid|code|pass|pat))(?:\[\w*\])?$/i;

/** Returns a query for a log row: the values of parameters that can be secrets are taken out. */
export function redactQuery(query: string): string {
  if (query.length < 2) return query;
  const parts = query.slice(1).split("&");
  return `?${parts.map((part) => (isSecret(part) ? `${part.slice(0, part.indexOf("="))}=REDACTED` : part)).join("&")}`;
}

/** Returns the values of a URL's parameters that can be secrets, as written and as read. */
export function secretValues(url: string): string[] {
  const question = url.indexOf("?");
  if (question === -1) return [];
  return url
    .slice(question + 1)
    .split("&")
    .filter(isSecret)
    .flatMap((part) => {
      const value = part.slice(part.indexOf("=") + 1);
      return [value, decodedValue(value)];
    });
}

function isSecret(part: string): boolean {
  const equals = part.indexOf("=");
  if (equals === -1) return false;
  const name = part.slice(0, equals);
  try {
    return SECRET_PARAMETERS.test(decodeURIComponent(name));
  } catch {
    // A name that cannot be read cannot be judged.
    return true;
  }
}

/** Removes query parameters whose raw value (or name without one) satisfies `drop`; everything else stays byte for byte. */
export function filterQuery(query: string, drop: (value: string) => boolean): string {
  if (query.length < 2) return query;
  const kept = query
    .slice(1)
    .split("&")
    .filter((part) => !drop(part.slice(part.indexOf("=") + 1)));
  return kept.length === 0 ? "" : `?${kept.join("&")}`;
}
