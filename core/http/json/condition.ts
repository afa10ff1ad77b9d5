import { choiceHint } from "../../text/nearest.ts";
import { isObject } from "../json.ts";
import { isExact } from "./json-source.ts";

/**
 * The language of conditions over JSON, in the manner of MongoDB's queries: `{"plan": "free"}`, `{"age": {"$gte": 18}}`,
 * `{"$or": [{"type": {"$prefix": "order."}}, {"test": {"$exists": true}}]}`. It has no patterns and no code, and its depth
 * and number of terms are bounded: a stranger may write one.
 */
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
  $prefix: (actual, wanted) =>
    typeof actual === "string" && typeof wanted === "string" && actual.startsWith(wanted),
  $exists: (actual, wanted) => (actual !== undefined) === (wanted === true),
};

/** Only two numbers and two texts have an order; NaN, which compares as false, for anything else. */
function difference(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== "string" || typeof b !== "string") return Number.NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

interface Operand {
  readonly takes: (wanted: unknown) => boolean;
  readonly words: string;
}

const TERMS = 100;
const list: Operand = {
  takes: (wanted) => Array.isArray(wanted) && wanted.length <= TERMS,
  words: `a list of at most ${TERMS} values`,
};
const ordered: Operand = {
  takes: (wanted) => typeof wanted === "number" || typeof wanted === "string",
  words: "a number or a text",
};

/** The operands that operators accept. An operator without an entry accepts any value. */
const operands: Readonly<Record<string, Operand>> = {
  $gt: ordered,
  $gte: ordered,
  $lt: ordered,
  $lte: ordered,
  $in: list,
  $nin: list,
  $prefix: { takes: (wanted) => typeof wanted === "string", words: "a text" },
  $exists: { takes: (wanted) => typeof wanted === "boolean", words: "true or false" },
};

const LOGICAL: ReadonlySet<string> = new Set(["$and", "$or", "$nor"]);
const DEPTH = 8;
const TOO_DEEP = `A condition is at most ${DEPTH} levels deep`;

/** Explains why a name cannot be that of a value; null when it can. */
export type NameProblem = (name: string) => string | null;

interface Check {
  terms: number;
  readonly ofName: NameProblem;
}

/** Explains to its author why a value is not a valid condition; null when it is one. */
export function conditionProblem(
  condition: unknown,
  ofName: NameProblem = () => null,
): string | null {
  const count = { terms: 0, ofName };
  const problem = problemIn(condition, 0, count);
  return problem ?? (count.terms > TERMS ? `A condition has at most ${TERMS} terms` : null);
}

function problemIn(value: unknown, depth: number, count: Check): string | null {
  if (!isObject(value)) return "A condition is an object";
  if (depth > DEPTH) return TOO_DEEP;
  for (const [key, inner] of Object.entries(value)) {
    count.terms++;
    const problem = key.startsWith("$")
      ? logicalProblem(key, inner, depth, count)
      : (count.ofName(key) ?? operatorProblem(inner, depth, count));
    if (problem !== null) return problem;
  }
  return null;
}

function logicalProblem(key: string, inner: unknown, depth: number, count: Check): string | null {
  if (key === "$not") return problemIn(inner, depth + 1, count);
  if (!LOGICAL.has(key)) return unknownOperator(key, ["$not", ...LOGICAL]);
  if (!Array.isArray(inner) || inner.length === 0) return `"${key}" takes a list of conditions`;
  for (const one of inner) {
    const problem = problemIn(one, depth + 1, count);
    if (problem !== null) return problem;
  }
  return null;
}

/** A member's condition: a bare value, or operators. */
function operatorProblem(inner: unknown, depth: number, count: Check): string | null {
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
      return unknownOperator(operator, ["$not", ...Object.keys(compare)]);
    const unfit = operandProblem(operator, wanted);
    if (unfit !== null) return unfit;
    const rounded = [wanted]
      .flat()
      .map(valueProblem)
      .find((one) => one !== null);
    if (rounded !== undefined) return rounded;
  }
  return null;
}

/** An operand of another kind would make a condition that never holds or, by `$exists`, the opposite of what it says. */
function operandProblem(operator: string, wanted: unknown): string | null {
  const of = operands[operator];
  return of === undefined || of.takes(wanted) ? null : `"${operator}" takes ${of.words}`;
}

function unknownOperator(operator: string, known: readonly string[]): string {
  const shown = operator.slice(0, 32);
  return `Unknown operator "${shown}"${choiceHint(shown, known)}`;
}

/** Requests have such a number as text, so that two do not become one. */
function valueProblem(value: unknown): string | null {
  return typeof value !== "number" || isExact(value)
    ? null
    : `The number ${value} is rounded: write one of so many digits as text`;
}

/** Reads the value that a condition names; undefined for a missing one. */
export type ConditionReader = (path: string) => unknown;

/** Whether values satisfy a condition in the manner of MongoDB: `{"plan": {"$eq": "free"}}`. */
export function satisfies(condition: unknown, read: ConditionReader): boolean {
  if (!isObject(condition)) return false;
  return Object.entries(condition).every(([key, inner]) => {
    const all = Array.isArray(inner) ? inner : [];
    if (key === "$and") return all.every((one) => satisfies(one, read));
    if (key === "$or") return all.some((one) => satisfies(one, read));
    if (key === "$nor") return !all.some((one) => satisfies(one, read));
    if (key === "$not") return !satisfies(inner, read);
    return fits(read(key), inner);
  });
}

function fits(actual: unknown, wanted: unknown): boolean {
  if (!isObject(wanted)) return actual === wanted;
  return Object.entries(wanted).every(([operator, value]) =>
    operator === "$not" ? !fits(actual, value) : (compare[operator]?.(actual, value) ?? false),
  );
}

/** The value behind names, each of an own member or an element's index; undefined for a missing one. */
export function memberAt(value: unknown, names: readonly string[]): unknown {
  let at = value;
  for (const name of names) at = own(at, name);
  return at;
}

function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
