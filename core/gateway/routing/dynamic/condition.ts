import { isObject } from "../../../http/json.ts";
import { isExact } from "../../../http/json/json-source.ts";
/** The data that a condition can test: request metadata, the JSON body and the headers. */
export interface RouteFacts {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

type Compare = (actual: unknown, wanted: unknown) => boolean;

const compare: Readonly<Record<string, Compare>> = {
  $eq: (actual, wanted) => actual === wanted,
  $ne: (actual, wanted) => actual !== wanted,
  $gt: (actual, wanted) => difference(actual, wanted) > 0,
  $gte: (actual, wanted) => difference(actual, wanted) >= 0,
  $lt: (actual, wanted) => difference(actual, wanted) < 0,
  $lte: (actual, wanted) => difference(actual, wanted) <= 0,
  $in: (actual, wanted) => Array.isArray(wanted) && wanted.includes(actual),
  $nin: (actual, wanted) => Array.isArray(wanted) && !wanted.includes(actual),
  $exists: (actual, wanted) => (actual !== undefined) === (wanted === true),
};

/** Only two numbers and two texts have an order; NaN, which compares as false, for anything else. */
function difference(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== "string" || typeof b !== "string") return Number.NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

const LOGICAL: ReadonlySet<string> = new Set(["$and", "$or", "$nor"]);
const DEPTH = 8;
const TERMS = 100;
const TOO_DEEP = `A condition is at most ${DEPTH} levels deep`;

/** Explains to its author why a value is not a valid condition; null when it is one. */
export function conditionProblem(condition: unknown): string | null {
  const count = { terms: 0 };
  const problem = problemIn(condition, 0, count);
  return problem ?? (count.terms > TERMS ? `A condition has at most ${TERMS} terms` : null);
}

function problemIn(value: unknown, depth: number, count: { terms: number }): string | null {
  if (!isObject(value)) return "A condition is an object";
  if (depth > DEPTH) return TOO_DEEP;
  for (const [key, inner] of Object.entries(value)) {
    count.terms++;
    const problem = key.startsWith("$")
      ? logicalProblem(key, inner, depth, count)
      : operatorProblem(inner, depth, count);
    if (problem !== null) return problem;
  }
  return null;
}

function logicalProblem(
  key: string,
  inner: unknown,
  depth: number,
  count: { terms: number },
): string | null {
  if (key === "$not") return problemIn(inner, depth + 1, count);
  if (!LOGICAL.has(key)) return `Unknown operator "${key.slice(0, 32)}"`;
  if (!Array.isArray(inner) || inner.length === 0) return `"${key}" takes a list of conditions`;
  for (const one of inner) {
    const problem = problemIn(one, depth + 1, count);
    if (problem !== null) return problem;
  }
  return null;
}

/** A member's condition: a bare value, or operators. */
function operatorProblem(inner: unknown, depth: number, count: { terms: number }): string | null {
  if (Array.isArray(inner)) return 'A list of values needs "$in"';
  if (!isObject(inner)) return valueProblem(inner);
  const operators = Object.entries(inner);
  if (operators.length === 0) return "A member's condition is a value or operators";
  for (const [operator, wanted] of operators) {
    count.terms++;
    if (operator === "$not") {
      const problem = depth > DEPTH ? TOO_DEEP : operatorProblem(wanted, depth + 1, count);
      if (problem !== null) return problem;
    } else if (!Object.hasOwn(compare, operator))
      return `Unknown operator "${operator.slice(0, 32)}"`;
    else if (
      (operator === "$in" || operator === "$nin") &&
      !(Array.isArray(wanted) && wanted.length <= TERMS)
    )
      return `"${operator}" takes a list of at most ${TERMS} values`;
    const rounded = [wanted]
      .flat()
      .map(valueProblem)
      .find((one) => one !== null);
    if (rounded !== undefined) return rounded;
  }
  return null;
}

/** Requests have such a number as text, so that two do not become one. */
function valueProblem(value: unknown): string | null {
  return typeof value !== "number" || isExact(value)
    ? null
    : `The number ${value} is rounded: write one of so many digits as text`;
}

/**
 * Whether the facts satisfy a condition in the manner of MongoDB: `{"metadata.plan": {"$eq": "free"}}`.
 * A path begins with `metadata`, `body` or `headers`; any other name is a key of the metadata.
 */
export function satisfies(condition: unknown, facts: RouteFacts): boolean {
  if (!isObject(condition)) return false;
  return Object.entries(condition).every(([key, inner]) => {
    const all = Array.isArray(inner) ? inner : [];
    if (key === "$and") return all.every((one) => satisfies(one, facts));
    if (key === "$or") return all.some((one) => satisfies(one, facts));
    if (key === "$nor") return !all.some((one) => satisfies(one, facts));
    if (key === "$not") return !satisfies(inner, facts);
    return fits(factAt(key, facts), inner);
  });
}

function fits(actual: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return actual === wanted;
  return Object.entries(wanted).every(([operator, value]) =>
    operator === "$not" ? !fits(actual, value) : (compare[operator]?.(actual, value) ?? false),
  );
}

/** Returns the fact that a dotted path names; undefined for a missing one. */
export function factAt(path: string, facts: RouteFacts): unknown {
  const [root = "", ...rest] = path.split(".");
  if (root !== "metadata" && root !== "body" && root !== "headers")
    return own(facts.metadata, path);
  let value: unknown = facts[root];
  for (const name of root === "headers" ? [rest.join(".").toLowerCase()] : rest)
    value = own(value, name);
  return value;
}

function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
