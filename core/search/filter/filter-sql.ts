import { ApiError } from "../../http/api-error.ts";
import type { SqlValue } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { Comparison, Filter, Scalar } from "./filter.ts";
import {
  comparable,
  type FieldType,
  indexedValue,
  type MetadataField,
  seconds,
} from "./metadata.ts";

/** A condition on `search_items i`, with its parameters in order. */
export interface Condition {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

const SIGNS: Readonly<Record<Comparison, string>> = {
  eq: "=",
  ne: "=",
  lt: "<",
  lte: "<=",
  gt: ">",
  gte: ">=",
};

/**
 * A filter as SQL over the metadata index, to be applied before anything is ranked. Field names and
 * values are always parameters. Throws 7057 for an operand of a datetime field that is not a time, and 7058
 * for one that does not fit its field's type.
 */
export function filterCondition(filter: Filter, schema: readonly MetadataField[]): Condition {
  const types = new Map<string, FieldType>(
    schema.map((field) => [field.field_name, field.data_type]),
  );
  types.set("filename", "text").set("folder", "text").set("timestamp", "datetime");
  return condition(filter, types);
}

type Types = ReadonlyMap<string, FieldType>;

function condition(filter: Filter, types: Types): Condition {
  if ("filters" in filter) {
    const parts = filter.filters.map((part) => condition(part, types));
    if (parts.length === 0) return { sql: "1 = 1", params: [] };
    return {
      sql: `(${parts.map((part) => part.sql).join(filter.op === "and" ? " AND " : " OR ")})`,
      params: parts.flatMap((part) => part.params),
    };
  }
  if ("values" in filter) return membership(filter.op, filter.field, filter.values, types);
  if (filter.value === null) return exists(filter.field, "", [], filter.op === "ne");
  const { column, value } = operand(filter.field, filter.value, types);
  return exists(
    filter.field,
    ` AND m.${column} ${SIGNS[filter.op]} ?`,
    [value],
    filter.op === "ne",
  );
}

function membership(
  op: "in" | "nin",
  field: string,
  values: readonly Scalar[],
  types: Types,
): Condition {
  const operands = values.map((value) => operand(field, value, types));
  const texts = operands.filter((one) => one.column === "txt").map((one) => one.value);
  const numbers = operands.filter((one) => one.column === "num").map((one) => one.value);
  // One parameter for the whole list: some engines allow only 100 per statement.
  const test = ` AND (${isOneOf("m.txt", "TEXT")} OR ${isOneOf("m.num", "DOUBLE PRECISION")})`;
  return exists(field, test, [asSet(texts), asSet(numbers)], op === "nin");
}

/** `null` as an operand asks for the absence of the field, so that "ne null" reads "present". */
function exists(
  field: string,
  test: string,
  params: readonly SqlValue[],
  negate: boolean,
): Condition {
  const absent = test === "" ? !negate : negate;
  const sql = `EXISTS (SELECT 1 FROM search_meta m WHERE m.actor = i.actor AND m.item_id = i.id AND m.field = ?${test})`;
  return { sql: absent ? `NOT ${sql}` : sql, params: [field, ...params] };
}

type Operand = { readonly column: "num" | "txt"; readonly value: string | number };

function operand(field: string, value: Scalar, types: Types): Operand {
  const type = types.get(field);
  // A field outside the schema is in no index: the comparison matches nothing, whatever its operand.
  if (type === undefined)
    return typeof value === "string"
      ? { column: "txt", value: comparable(value) }
      : { column: "num", value: Number(value) };
  if (type === "datetime") {
    const time = seconds(value);
    if (time !== null) return { column: "num", value: time };
    throw new ApiError("invalid_datetime_filter", {
      message: `invalid_datetime_filter_value: "${String(value).slice(0, 64)}" for "${field}" is neither a number nor an ISO 8601 time`,
    });
  }
  const indexed =
    type === "number" && typeof value !== "number"
      ? null
      : indexedValue(type, textOperand(type, value));
  if (indexed === null) {
    throw new ApiError("invalid_filter", {
      message: `invalid_metadata_filter: the operand for "${field}" must be of type ${type}`,
    });
  }
  return indexed.txt === null
    ? { column: "num", value: indexed.num ?? 0 }
    : { column: "txt", value: indexed.txt };
}

/** Longer operands than a value can be are compared by their beginning all the same. */
function textOperand(type: FieldType, value: Scalar): Scalar {
  return type === "text" && typeof value === "string" ? value.slice(0, 64) : value;
}
