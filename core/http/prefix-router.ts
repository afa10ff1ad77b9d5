import type { Result, Router } from "hono/router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";

interface Route<T> {
  /** The first segment of its paths; null when that is a pattern. */
  readonly prefix: string | null;
  readonly method: string;
  readonly path: string;
  readonly handler: T;
}

/** The latest request that was matched, and its routes. */
interface LastMatch<T> {
  readonly method: string;
  readonly path: string;
  readonly found: Result<T>;
}

/**
 * A router with a table of its own for each first path segment. One table of all routes falls back to Hono's slow
 * router as soon as any two of them, anywhere, are ambiguous; so only the capability pays that has such routes. It
 * remembers its last match, because the access log asks for the route of a request right after the app did.
 */
export function prefixRouter<T>(): Router<T> {
  const routes: Route<T>[] = [];
  const tables = new Map<string | null, Router<T>>();
  let last: LastMatch<T> | null = null;
  const tableOf = (prefix: string): Router<T> => {
    const known = tables.get(prefix);
    if (known !== undefined) return known;
    // Only segments that routes name get tables, so a caller cannot make any.
    const own = routes.some((route) => route.prefix === prefix) ? prefix : null;
    let table = tables.get(own);
    if (table === undefined) tables.set(own, (table = build(routes, own)));
    return table;
  };
  return {
    name: "PrefixRouter",
    add(method, path, handler) {
      routes.push({ prefix: literalPrefix(path), method, path, handler });
      tables.clear();
      last = null;
    },
    match(method, path) {
      if (last?.path === path && last.method === method) return last.found;
      const found = tableOf(firstSegment(path)).match(method, path);
      last = { method, path, found };
      return found;
    },
  };
}

function firstSegment(path: string): string {
  const end = path.indexOf("/", 1);
  return end === -1 ? path.slice(1) : path.slice(1, end);
}

function literalPrefix(path: string): string | null {
  const segment = firstSegment(path);
  return /^[\w.-]+$/.test(segment) ? segment : null;
}

function build<T>(routes: readonly Route<T>[], own: string | null): Router<T> {
  const routers = [new RegExpRouter<T>(), new TrieRouter<T>()];
  const table = new SmartRouter<T>({ routers });
  for (const { prefix, method, path, handler } of routes) {
    if (prefix === null || prefix === own) table.add(method, path, handler);
  }
  return table;
}
