import { parseInstant } from "../../http/fields/instant.ts";
import type { DeprecationEntry, Replacement } from "./entry.ts";

/** Kinds that mean nothing without a route to bind them to. */
const ROUTED = new Set(["endpoint", "query", "behaviour"]);

/** Lists the faults of a table, in words; empty for a valid one. */
export function checkTable(table: readonly DeprecationEntry[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  const retired = new Set(
    table
      .filter((entry) => entry.kind === "endpoint")
      .flatMap((entry) => entry.methods.map((m) => key(m, entry.path))),
  );
  for (const entry of table) {
    if (seen.has(entry.id)) problems.push(`${entry.id} is there twice`);
    seen.add(entry.id);
    problems.push(...checkDates(entry), ...checkRoute(entry));
    for (const { method, path } of entry.replacement) {
      if (retired.has(key(method, path)))
        problems.push(`${entry.id} is replaced by the retired ${method} ${path}`);
    }
  }
  return problems;
}

/**
 * Entries whose endpoint template also matches one of the live routes (`:name` or `{name}` parameters). The routes win
 * when a request comes; the template needs an `except` that says so.
 */
export function shadowedRoutes(
  table: readonly DeprecationEntry[],
  routes: readonly Replacement[],
): { readonly id: string; readonly route: Replacement }[] {
  return table
    .filter((entry) => entry.kind === "endpoint")
    .flatMap((entry) =>
      routes.filter((route) => shadows(entry, route)).map((route) => ({ id: entry.id, route })),
    );
}

function shadows(entry: DeprecationEntry, route: Replacement): boolean {
  if (entry.path === null || entry.path.includes("*")) return false;
  if (!entry.methods.includes(route.method) && !entry.methods.includes("*")) return false;
  const template = entry.path.split("/");
  const live = route.path.split("/");
  if (template.length !== live.length) return false;
  return template.every((segment, index) => {
    const other = live[index] ?? "";
    return isParameter(segment) ? !entry.except.includes(other) : segment === other;
  });
}

function checkDates(entry: DeprecationEntry): string[] {
  const { id, date, eol, enforceFrom } = entry;
  for (const day of [date, eol, enforceFrom]) {
    if (day !== null && parseInstant(day) === null) return [`${id} has the invalid date "${day}"`];
  }
  const announced = date ?? eol;
  if (announced === null) return [`${id} has no date`];
  // A Sunset before its Deprecation is forbidden (RFC 9745 section 4).
  return enforceFrom !== null && enforceFrom < announced
    ? [`${id} ends before it is deprecated`]
    : [];
}

function checkRoute(entry: DeprecationEntry): string[] {
  const { id, kind, path, methods } = entry;
  if (path === null) return ROUTED.has(kind) ? [`${id} has no route`] : [];
  if (!path.startsWith("/")) return [`${id} needs a path with a leading slash`];
  return methods.length === 0 ? [`${id} has no method`] : [];
}

function key(method: string, path: string | null): string {
  return `${method} ${(path ?? "").replaceAll(/\{[^}]*\}/g, "{}")}`;
}

function isParameter(segment: string): boolean {
  return segment.startsWith("{") || segment.startsWith(":");
}
