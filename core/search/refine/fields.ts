import { ApiError } from "../../http/api-error.ts";
import { didYouMean } from "../../http/fields/nearest.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { builtinFields, type FieldType } from "../filter/metadata.ts";

/** Items whose values are read at once: a few milliseconds of SQLite. */
const SLICE = 2_000;

/** The types of the fields that filters, facets and sorting know. */
export function fieldTypes(state: InstanceState): ReadonlyMap<string, FieldType> {
  const types = new Map<string, FieldType>(
    builtinFields.map((name) => [name, name === "timestamp" ? "datetime" : "text"]),
  );
  for (const { field_name: name, data_type: type } of state.facts().settings.custom_metadata)
    types.set(name, type);
  return types;
}

/** The name of a field as it is stored. Throws 400, with the nearest name, for one that the instance does not have. */
export function knownField(
  state: InstanceState,
  option: string,
  name: string,
  others: readonly string[] = [],
): string {
  const field = name.toLowerCase();
  const names = [...fieldTypes(state).keys(), ...others];
  if (names.includes(field)) return field;
  throw new ApiError("invalid_request", {
    message: `${option}: the instance has no field "${field.slice(0, 64)}"${didYouMean(field, names) || `; it has ${names.map((one) => `"${one}"`).join(", ")}`}`,
  });
}

/** The values of a field by item, as they are compared; items without one are missing. */
export async function fieldValues(
  state: InstanceState,
  field: string,
  items: readonly string[],
): Promise<Map<string, string | number>> {
  const out = new Map<string, string | number>();
  for (let at = 0; at < items.length; at += SLICE) {
    const rows = await state.context.sql.all(
      `SELECT item_id, num, txt FROM search_meta WHERE actor = ? AND field = ? AND ${isOneOf("item_id", "TEXT")}`,
      [state.actor, field, asSet(items.slice(at, at + SLICE))],
    );
    for (const row of rows)
      out.set(
        String(row["item_id"]),
        row["txt"] === null ? Number(row["num"]) : String(row["txt"]),
      );
    if (at + SLICE < items.length) await state.context.system.sleep(0);
  }
  return out;
}
