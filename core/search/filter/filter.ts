import { choiceHint } from "../../text/nearest.ts";
import { isObject } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";

/** A single value that metadata can hold. */
export type Scalar = string | number | boolean;

/** How a comparison reads. `ne` and `nin` also hold when the field is absent. */
export type Comparison = "eq" | "ne" | "lt" | "lte" | "gt" | "gte";

/** A metadata filter, whichever dialect it was written in. */
export type Filter = CompoundFilter | ComparisonFilter | MembershipFilter;

/** All of its filters must hold, or one of them. */
export interface CompoundFilter {
  readonly op: "and" | "or";
  readonly filters: readonly Filter[];
}

/** A field against a value; null asks whether the field is there. */
export interface ComparisonFilter {
  readonly op: Comparison;
  readonly field: string;
  readonly value: Scalar | null;
}

/** A field against a list of values. */
export interface MembershipFilter {
  readonly op: "in" | "nin";
  readonly field: string;
  readonly values: readonly Scalar[];
}

/** Conditions of one filter: each becomes SQL with bound parameters, of which some engines allow 100. */
const MAX_CONDITIONS = 32;
/** Values of one `$in` or `$nin`. */
const MAX_VALUES = 256;
const MAX_FIELD = 64;

const COMPARISONS: ReadonlySet<string> = new Set(["eq", "ne", "lt", "lte", "gt", "gte"]);

/**
 * Reads a filter of either dialect (docs/compatibility.md): `{field: scalar | {$eq, $in, …}}`, where everything
 * must hold, or the older `{type, key, value}` and `{type: "and" | "or", filters}`.
 * Throws 7058, or 7015 and 7016 for an older `or` that is not about one key and `eq`.
 */
export function parseFilter(raw: unknown): Filter {
  const filter = readFilter(raw);
  if (conditions(filter) > MAX_CONDITIONS) {
    throw invalid(`it has more than ${MAX_CONDITIONS} conditions`);
  }
  return filter;
}

function readFilter(raw: unknown): Filter {
  if (!isObject(raw)) throw invalid("it must be an object");
  return isLegacy(raw) ? legacyFilter(raw) : modernFilter(raw);
}

/** A metadata field may itself be called "type", so the name alone does not decide. */
function isLegacy(raw: Readonly<Record<string, unknown>>): boolean {
  const type = raw["type"];
  const named =
    typeof type === "string" && (COMPARISONS.has(type) || type === "and" || type === "or");
  return named && (Object.hasOwn(raw, "key") || Object.hasOwn(raw, "filters"));
}

function modernFilter(raw: Readonly<Record<string, unknown>>): Filter {
  const filters = Object.entries(raw).flatMap(([key, condition]) =>
    fieldFilters(fieldName(key), condition),
  );
  return { op: "and", filters };
}

function fieldFilters(field: string, condition: unknown): Filter[] {
  if (isScalar(condition) || condition === null) return [{ op: "eq", field, value: condition }];
  if (!isObject(condition))
    throw invalid(`the condition on "${field}" must be a value or an object of operators`);
  const operators = Object.entries(condition);
  if (operators.length === 0) throw invalid(`the condition on "${field}" has no operator`);
  return operators.map(([operator, operand]) => operatorFilter(field, operator, operand));
}

function operatorFilter(field: string, operator: string, operand: unknown): Filter {
  const op = operator.startsWith("$") ? operator.slice(1) : "";
  if (op === "in" || op === "nin") {
    if (!Array.isArray(operand) || operand.length === 0 || !operand.every(isScalar)) {
      throw invalid(`"${operator}" on "${field}" needs a list of values`);
    }
    if (operand.length > MAX_VALUES)
      throw invalid(`"${operator}" on "${field}" has more than ${MAX_VALUES} values`);
    return { op, field, values: operand };
  }
  if (!isComparison(op)) {
    const shown = operator.slice(0, 32);
    throw invalid(`unknown operator "${shown}" on "${field}"${choiceHint(shown, operators)}`);
  }
  return comparison(op, field, operand);
}

function legacyFilter(raw: Readonly<Record<string, unknown>>): Filter {
  const type = String(raw["type"]);
  if (isComparison(type)) return legacyComparison(raw);
  const filters = raw["filters"];
  if (!Array.isArray(filters) || filters.length === 0)
    throw invalid(`"${type}" needs a list of filters`);
  const parts = filters.map((part: unknown) => {
    if (!isObject(part)) throw invalid(`every filter of "${type}" must be an object`);
    return legacyComparison(part);
  });
  if (type === "and") return { op: "and", filters: parts };
  if (parts.some((part) => part.op !== "eq")) throw new ApiError("filter_or_only_eq");
  if (new Set(parts.map((part) => part.field)).size > 1) throw new ApiError("filter_or_one_key");
  return { op: "or", filters: parts };
}

function legacyComparison(raw: Readonly<Record<string, unknown>>): ComparisonFilter {
  const { type, key, value, ...rest } = raw;
  if (typeof type !== "string" || !isComparison(type)) {
    throw invalid(
      `unknown comparison "${String(type).slice(0, 32)}"; filters of this form do not nest`,
    );
  }
  if (typeof key !== "string") throw invalid(`"${type}" needs a key`);
  if (Object.keys(rest).length > 0) throw invalid(`"${type}" takes only a key and a value`);
  return comparison(type, fieldName(key), value);
}

function comparison(op: Comparison, field: string, operand: unknown): ComparisonFilter {
  const ordered = op !== "eq" && op !== "ne";
  if (operand === null && !ordered) return { op, field, value: null };
  if (!isScalar(operand) || (ordered && typeof operand === "boolean")) {
    throw invalid(`"${op}" on "${field}" needs ${ordered ? "a string or a number" : "a value"}`);
  }
  return { op, field, value: operand };
}

function fieldName(key: string): string {
  if (key === "" || key.startsWith("$") || key.length > MAX_FIELD) {
    throw invalid(`"${key.slice(0, MAX_FIELD)}" is not the name of a field`);
  }
  return key.toLowerCase().toWellFormed();
}

function conditions(filter: Filter): number {
  if (filter.op !== "and" && filter.op !== "or") return 1;
  return filter.filters.reduce((sum, part) => sum + conditions(part), 0);
}

/** All operators, as filters write them. */
const operators: readonly string[] = [...COMPARISONS, "in", "nin"].map((name) => `$${name}`);

function isComparison(name: string): name is Comparison {
  return COMPARISONS.has(name);
}

/** Whether a value can stand in metadata: a string, a finite number or a boolean. */
export function isScalar(value: unknown): value is Scalar {
  return (
    typeof value === "string" ||
    typeof value === "boolean" ||
    (typeof value === "number" && Number.isFinite(value))
  );
}

function invalid(why: string): ApiError {
  return new ApiError("invalid_filter", { message: `invalid_metadata_filter: ${why}` });
}
