import { parseInstant } from "../../http/fields/instant.ts";
import type { DeprecationEntry, Replacement } from "./entry.ts";

/** Kinds that mean nothing without a route to bind them to. */
const ROUTED = new Set(["endpoint", "query", "behaviour"]);

/**
 * Returns a sentence for each fault of a table; an empty list for a valid table.
 *
 * @example
 * ```ts
 * import { checkTable, deprecationTable } from "causey/deprecations";
 *
 * checkTable(deprecationTable); // → []
 * ```
 */
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
 *
 * @example
 * ```ts
 * import { defineDeprecation, shadowedRoutes } from "causey/deprecations";
 *
 * const entry = defineDeprecation({
 *   id: "orders-v1",
 *   on: "GET /v1/orders/{id}",
 *   since: "2026-01-01",
 *   sunset: "2026-07-01",
 * });
 * shadowedRoutes([entry], [{ method: "GET", path: "/v1/orders/count" }]).length; // → 1
 * ```
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
  if (methods.length === 0) return [`${id} has no method`];
  const replacements = entry.replacement.map((one) => [[one.method], one.path] as const);
  return [[methods, path] as const, ...replacements].flatMap(([verbs, template]) =>
    [...verbs.flatMap(methodFault), ...pathFaults(template)].map((fault) => `${id} ${fault}`),
  );
}

function methodFault(method: string): string[] {
  if (method === "*" || /^[A-Z]+$/.test(method)) return [];
  return [`has the method "${method}": write "${method.toUpperCase()}"`];
}

/** A template has `{name}` for a whole segment, and `**` only as the last one. */
function pathFaults(path: string): string[] {
  if (!path.startsWith("/"))
    return [`has the path "${path}": it needs a leading slash, "/${path}"`];
  const right = path
    .replaceAll(/(?<=\/):([^/]+)/g, "{$1}")
    .replace(/(?<=.)\/$/, "")
    .replace(/(?<=\/)\*$/, "**");
  if (path !== "/*" && right !== path) return [`has the path "${path}": write "${right}"`];
  const segments = path.split("/");
  const odd = segments.find(
    (one, index) =>
      (/[{}?#\s]/.test(one) && !/^\{[^{}/?#\s]+\}$/.test(one)) ||
      (one === "**" && index < segments.length - 1),
  );
  if (odd === "**") return [`has the path "${path}": "**" can only be its last segment`];
  if (odd !== undefined)
    return [`has the path "${path}": "${odd}" is neither a fixed segment nor a whole "{name}"`];
  const twice = segments.find((one, index) => isParameter(one) && segments.indexOf(one) < index);
  return twice === undefined ? [] : [`has the path "${path}": "${twice}" is there twice`];
}

function key(method: string, path: string | null): string {
  return `${method} ${(path ?? "").replaceAll(/\{[^}]*\}/g, "{}")}`;
}

function isParameter(segment: string): boolean {
  return segment.startsWith("{") || segment.startsWith(":");
}
