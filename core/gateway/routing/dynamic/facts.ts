import { memberAt } from "../../../http/json/condition.ts";
import { pathProblem } from "../../../http/json/payload-filter.ts";

/** The data that a condition can test: request metadata, the JSON body and the headers. */
export interface RouteFacts {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

/**
 * Returns the fact that a dotted path names; undefined for a missing one. A path begins with `metadata`, `body` or
 * `headers`; any other name is a key of the metadata.
 */
export function factAt(path: string, facts: RouteFacts): unknown {
  const [root = "", ...rest] = path.split(".");
  if (root === "headers") return memberAt(facts.headers, [rest.join(".").toLowerCase()]);
  if (root === "metadata" || root === "body") return memberAt(facts[root], rest);
  return memberAt(facts.metadata, [path]);
}

/** Explains why a path never finds a fact; null when it may. A key of the metadata by itself may have any dots. */
export const factProblem = (path: string): string | null =>
  /^(?:metadata|body)\./.test(path) ? pathProblem(path) : null;
