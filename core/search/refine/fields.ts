import { invalidRequest } from "../../http/api-error.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { Filter } from "../filter/filter.ts";
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

/** Says of each field of a filter that the instance does not have that no item has it, with the nearest name. */
export function filterNotes(state: InstanceState, filter: Filter): string[] {
  const names = [...fieldTypes(state).keys()];
  const unknown = new Set(fieldsOf(filter).filter((field) => !names.includes(field)));
  return [...unknown].map((field) => `filters: no item has the field ${nearestOr(field, names)}`);
}

function fieldsOf(filter: Filter): string[] {
  return "filters" in filter ? filter.filters.flatMap(fieldsOf) : [filter.field];
}

function nearestOr(field: string, names: readonly string[]): string {
  const known = names.map((one) => `"${one}"`).join(", ");
  return `"${field.slice(0, 64)}"${didYouMean(field, names) || `; the instance has ${known}`}`;
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
  throw invalidRequest(`${option}: the instance has no field ${nearestOr(field, names)}`);
}
