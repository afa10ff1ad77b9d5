import { conditionProblem, memberAt, satisfies } from "./condition.ts";
import { exactJson } from "./json-source.ts";

/** Explains to its author why a value is not a filter; null when it is one. */
export const filterProblem = (filter: unknown): string | null =>
  conditionProblem(filter, pathProblem);

/** Explains why a path has an empty name, and so never finds what its author means; null when it has none. */
export function pathProblem(path: string): string | null {
  const names = path.split(".");
  if (!names.includes("")) return null;
  const meant = names.filter((name) => name !== "").join(".");
  const shown = JSON.stringify(path.slice(0, 64));
  const hint = meant === "" ? 'write one such as "customer.plan"' : `write "${meant.slice(0, 64)}"`;
  return `The path ${shown} has an empty name: ${hint}`;
}

/**
 * Tests filters against a payload. A filter is the JSON text of a condition; anything else lets every payload through. The
 * payload is parsed at the first filter.
 */
export function payloadFilter(payload: string): (filter: unknown) => boolean {
  let parsed: { readonly value: unknown } | undefined;
  return (filter) => {
    if (typeof filter !== "string") return true;
    const { value } = (parsed ??= { value: exactJson(payload) });
    return satisfies(JSON.parse(filter), (path) => memberAt(value, path.split(".")));
  };
}
