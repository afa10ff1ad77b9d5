/** The index at which the pathname of an absolute URL begins: that of its first slash. */
export function pathStart(url: string): number {
  const at = url.indexOf("/", url.indexOf("://") + 3);
  return at === -1 ? url.length : at;
}

/** The index at which the pathname ends: at the query, the fragment or the end. */
export function pathEnd(url: string, start: number): number {
  const query = url.indexOf("?", start);
  const end = query === -1 ? url.length : query;
  const fragment = url.indexOf("#", start);
  return fragment === -1 || fragment > end ? end : fragment;
}

/** The raw query of a URL without the question mark; empty when there is none. */
export function rawQuery(url: string): string {
  const end = pathEnd(url, pathStart(url));
  if (url.charAt(end) !== "?") return "";
  const fragment = url.indexOf("#", end);
  return url.slice(end + 1, fragment === -1 ? url.length : fragment);
}

/** The URL with another raw query. */
export function withQuery(url: string, query: string): string {
  const path = url.slice(0, pathEnd(url, pathStart(url)));
  return query === "" ? path : `${path}?${query}`;
}

/**
 * A replacement's path with its parameters taken from the old path by name; null when one is not there.
 * `path` is the raw pathname below the API root, so values keep their encoding. Where both templates end in `/**`, all that
 * lies below follows.
 */
export function fillPath(replacement: string, template: string, path: string): string | null {
  const values = new Map<string, string>();
  const segments = path.split("/");
  for (const [index, name] of template.split("/").entries()) {
    if (name.startsWith("{")) values.set(name, segments[index] ?? "");
  }
  const filled = replacement
    .replace(/\/\*\*$/, "")
    .split("/")
    .map((segment) => (segment.startsWith("{") ? values.get(segment) : segment));
  if (template.endsWith("/**")) filled.push(...segments.slice(template.split("/").length - 1));
  return filled.some((segment) => segment === undefined) ? null : filled.join("/");
}
