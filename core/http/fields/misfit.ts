import * as v from "valibot";
import { didYouMean } from "../../text/nearest.ts";
import { type CheckedValue, choicesAt, MOST_CHOICES, namesAt } from "./schema-fields.ts";

/**
 * Longest text about a value that does not fit, in characters: it quotes the value, which may be the whole body.
 */
const MISFIT_LENGTH = 300;

/** Names of missing fields that are listed. */
const LISTED = 20;

/** Options of {@link misfitText}. */
export interface MisfitOptions {
  /** Whether strings are quoted. In a configuration one in the wrong place may be a secret. @default true */
  readonly quotes?: boolean;
  /** The path of the value itself. @default "" */
  readonly within?: string;
  /** The word for a member that is missing. @default "field" */
  readonly kind?: "field" | "parameter";
  /** The schema and the value: then a missing choice is listed with its values. @default not listed */
  readonly of?: CheckedValue;
}

/** Says what a value lacks or has wrong: all missing fields at once, and the first misfit with its path. */
export function misfitText(
  issues: readonly v.BaseIssue<unknown>[],
  options: MisfitOptions = {},
): string {
  const list = issues.find((issue) => isOfList(issue));
  if (list !== undefined) return listMisfit(list, options);
  const missing = issues.filter(isMissing);
  const other = issues.find((issue) => !isMissing(issue));
  const parts = missing.length === 0 ? [] : [missingText(missing, options)];
  if (other !== undefined) {
    const path = pathOf(other, options);
    const words = misfitWords(other, options.quotes ?? true);
    // A strict object's: its own words would be that nothing was expected, and the name.
    if (other.expected === "never") parts.push(unknownText(other, options));
    else parts.push(path === "" ? words : `${path}: ${words}`);
  }
  const text = parts.join("; ");
  return text.length > MISFIT_LENGTH ? `${text.slice(0, MISFIT_LENGTH)}…` : text;
}

/** Whether a list stands where an object belongs: a schema of an object takes it, and misses all fields. */
function isOfList({ path }: v.BaseIssue<unknown>): boolean {
  const parent = path?.at(-1);
  return parent?.type === "object" && Array.isArray(parent.input);
}

function listMisfit(issue: v.BaseIssue<unknown>, { within = "" }: MisfitOptions): string {
  const keys = (issue.path ?? []).slice(0, -1).map(({ key }) => String(key));
  const path = [within, ...keys].filter((part) => part !== "").join(".");
  return `${path === "" ? "" : `${path}: `}expected an object, got a list`;
}

function unknownText(issue: v.BaseIssue<unknown>, options: MisfitOptions): string {
  const names = (issue.path ?? []).map((item) => item.key);
  const known = options.of === undefined ? [] : namesAt(options.of, names.slice(0, -1));
  const hint = didYouMean(String(names.at(-1)).slice(0, NAME), known);
  const isShort = known.length > 0 && known.length <= MOST_CHOICES;
  const taken = hint === "" && isShort ? `: it takes ${known.join(", ")}` : hint;
  return `Unknown field "${pathOf(issue, options)}"${taken}`;
}

/** Longest name that is compared with those of a schema. */
const NAME = 64;

function pathOf(issue: v.BaseIssue<unknown>, { within = "" }: MisfitOptions): string {
  return [within, v.getDotPath(issue) ?? ""].filter((part) => part !== "").join(".");
}

function isMissing(issue: v.BaseIssue<unknown>): boolean {
  return issue.received === "undefined" && issue.path !== undefined && isOfSchema(issue);
}

/** Whether a text is the schema's own and no message that was written for it. */
function isOfSchema({ message }: v.BaseIssue<unknown>): boolean {
  return /^Invalid \w+: /u.test(message);
}

function missingText(missing: readonly v.BaseIssue<unknown>[], options: MisfitOptions): string {
  const { kind = "field" } = options;
  const names = missing.map((issue) => `"${pathOf(issue, options)}"`);
  const [first, ...more] = missing;
  if (first === undefined || more.length > 0) return `Missing ${kind}s ${listText(names)}`;
  const path = (first.path ?? []).map((item) => item.key);
  const choices = options.of === undefined ? [] : choicesAt(options.of, path);
  const hint =
    choices.length === 0 ? "" : `: expected ${either(choices.map((one) => JSON.stringify(one)))}`;
  return `Missing ${kind} ${names[0]}${hint}`;
}

function listText(names: readonly string[]): string {
  const listed = names.length > LISTED ? names.slice(0, LISTED) : names.slice(0, -1);
  const last = names.length > LISTED ? `${names.length - LISTED} others` : names.at(-1);
  return `${listed.join(", ")} and ${last}`;
}

/** Bounds, by the schema's action. */
const bounds: Readonly<Record<string, string>> = {
  ">=": "at least ",
  "<=": "at most ",
  ">": "more than ",
  "<": "less than ",
};

/** Says in words what is wrong with one value; strings are quoted with `quotes`. */
export function misfitWords(issue: v.BaseIssue<unknown>, quotes: boolean): string {
  if (!isOfSchema(issue)) return issue.message;
  const { expected, input } = issue;
  if (issue.type === "integer") return `expected a whole number, got ${shown(issue, quotes)}`;
  if (issue.type === "non_empty") return "expected a value that is not empty";
  if (expected === null) return issue.message;
  const [, sign = "", bound = ""] = /^([<>]=?)(.+)$/u.exec(expected) ?? [];
  const unit = issue.type.endsWith("_length") ? ` ${unitOf(input, bound === "1")}` : "";
  if (sign !== "")
    return `expected ${bounds[sign] ?? sign}${bound}${unit}, got ${shown(issue, quotes)}`;
  const choices = choicesOf(expected);
  const literals = literalsOf(choices);
  const near = quotes && typeof input === "string" ? didYouMean(input, literals) : "";
  return `expected ${either(choices.map(named))}, got ${shown(issue, quotes)}${near}`;
}

function unitOf(counted: unknown, isOne: boolean): string {
  if (Array.isArray(counted)) return isOne ? "entry" : "entries";
  return isOne ? "character" : "characters";
}

/** The alternatives of a schema's `expected`: those of a union within it stand in parentheses. */
function choicesOf(expected: string): string[] {
  const all = expected.replace(/^\((.*)\)$/u, "$1").split(" | ");
  return [...new Set(all.map((one) => one.replace(/^\(+(?=")/u, "").replace(/(?<=")\)+$/u, "")))];
}

function literalsOf(choices: readonly string[]): string[] {
  return choices.filter((one) => one.startsWith('"')).map((one) => one.slice(1, -1));
}

/**
 * Makes the message of a schema's check, which names the value: `expected …, got …`. Never for a secret: the reason of a
 * refusal is logged.
 */
export function expecting(what: string): (issue: v.BaseIssue<unknown>) => string {
  return (issue) => `expected ${what}, got ${shown(issue, true)}`;
}

const names: Readonly<Record<string, string>> = {
  Array: "a list",
  Object: "an object",
  boolean: "true or false",
  number: "a number",
  string: "a string",
  undefined: "nothing",
};

function named(type: string): string {
  return names[type] ?? type;
}

function either(choices: readonly string[]): string {
  const last = choices.at(-1) ?? "";
  return choices.length < 2 ? last : `${choices.slice(0, -1).join(", ")} or ${last}`;
}

function shown({ received }: v.BaseIssue<unknown>, quotes: boolean): string {
  if (!received.startsWith('"')) return named(received);
  if (!quotes) return "a string";
  return received.length > 80 ? `${received.slice(0, 80)}…"` : received;
}
