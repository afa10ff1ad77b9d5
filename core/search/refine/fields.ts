import { ApiError } from "../../http/api-error.ts";
import { didYouMean } from "../../http/fields/nearest.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { builtinFields, type FieldType } from "../filter/metadata.ts";

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
