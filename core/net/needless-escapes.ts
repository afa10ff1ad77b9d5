const ESCAPE = "%(?:3\\d|[46][1-9a-f]|[57][\\da]|2[de]|5f)";
const FIRST = new RegExp(ESCAPE, "iu");
const ALL = new RegExp(ESCAPE, "giu");

/**
 * Whether a path escapes a letter, a digit, "-", "." or "_". Such escapes are never needed, and servers undo them
 * before they look for a route, so that two spellings are one path (RFC 3986 section 6.2.2.2).
 */
export function hasNeedlessEscapes(path: string): boolean {
  return FIRST.test(path);
}

/** The path with those characters as they are. */
export function withoutNeedlessEscapes(path: string): string {
  return path.replaceAll(ALL, (escape) =>
    String.fromCodePoint(Number.parseInt(escape.slice(1), 16)),
  );
}
