import { isObject, type Json } from "../http/json.ts";
import type { DeprecationEntry } from "./table/entry.ts";

/** Whether a JSON request body really carries the deprecated field of an entry. */
export function requestCarries(entry: DeprecationEntry, body: unknown): boolean {
  if (entry.isServed === true) return hasAnywhere(entry, body);
  // A bulk change has its records in a list.
  const lists = isObject(body) ? Object.values(body).filter(Array.isArray).flat() : [];
  return [body, ...lists].filter(isObject).some((record) => carries(entry, record));
}

/** Whether a part of a JSON response really carries the deprecated field of an entry. */
export function partCarries(entry: DeprecationEntry, part: unknown): boolean {
  if (entry.isServed === true) return hasAnywhere(entry, part);
  return (Array.isArray(part) ? part : [part]).filter(isObject).some((one) => carries(entry, one));
}

/** Whether the fields of an entry leave responses at its cut-off; where old and new stay in sync they go on. */
export function endsInResponse({ leavesResponses, pastCutOff }: DeprecationEntry): boolean {
  return leavesResponses === true || pastCutOff === "refuse";
}

/** A part of a response as it is after the cut-off of an entry, without its fields. */
export function modernPart(entry: DeprecationEntry, part: unknown): unknown {
  if (entry.isServed === true) return withoutAnywhere(entry, part);
  if (Array.isArray(part)) return part.map((one) => modernPart(entry, one));
  return isObject(part) && carries(entry, part) ? without(entry, part) : part;
}

function carries(entry: DeprecationEntry, record: Json): boolean {
  if (entry.isCarriedBy !== undefined) return entry.isCarriedBy(record);
  return entry.fields.some((field) => hasPath(record, field.split(".")));
}

function without(entry: DeprecationEntry, record: Json): Json {
  return entry.fields.reduce<Json>((rest, field) => withoutPath(rest, field.split(".")), record);
}

function hasAnywhere(entry: DeprecationEntry, value: unknown): boolean {
  if (Array.isArray(value)) return value.some((one) => hasAnywhere(entry, one));
  if (!isObject(value)) return false;
  return carries(entry, value) || Object.values(value).some((one) => hasAnywhere(entry, one));
}

function withoutAnywhere(entry: DeprecationEntry, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutAnywhere(entry, one));
  if (!isObject(value)) return value;
  const kept = carries(entry, value) ? without(entry, value) : value;
  return Object.fromEntries(
    Object.entries(kept).map(([name, one]) => [name, withoutAnywhere(entry, one)]),
  );
}

function hasPath(record: Json, [name = "", ...rest]: readonly string[]): boolean {
  if (!Object.hasOwn(record, name)) return false;
  const value = record[name];
  return rest.length === 0 || (isObject(value) && hasPath(value, rest));
}

function withoutPath(record: Json, [name = "", ...rest]: readonly string[]): Json {
  const { [name]: value, ...others } = record;
  if (rest.length === 0) return others;
  return isObject(value) ? { ...others, [name]: withoutPath(value, rest) } : record;
}
