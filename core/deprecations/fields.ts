import { isObject } from "../http/json.ts";
import type { DeprecationEntry } from "./table/entry.ts";
import { type ChainedError, unwrapErrorChain } from "./translate/error-chain.ts";

type Json = Readonly<Record<string, unknown>>;

/** Whether a JSON request body really carries the deprecated field of an entry. */
export function requestCarries(entry: DeprecationEntry, body: unknown): boolean {
  if (entry.where !== "request and response" || !isObject(body)) return false;
  // A bulk change of zone settings names the setting in its items.
  if (Array.isArray(body["items"]))
    return recordsOf(body["items"]).some((item) => carries(entry, item));
  return carries(entry, body);
}

/** The settings that a bulk change names. */
export function settingIds(body: unknown): string[] {
  return isObject(body) ? recordsOf(body["items"]).map((item) => String(item["id"])) : [];
}

/** Whether a JSON response really carries the deprecated field of an entry. */
export function responseCarries(entry: DeprecationEntry, body: unknown): boolean {
  if (!isObject(body)) return false;
  if (entry.kind === "behaviour")
    return recordsOf(body["errors"]).some((error) => hasPath(error, ["error_chain"]));
  return recordsOf(body["result"]).some((record) => carries(entry, record));
}

/** Whether an entry's response form ends at its cut-off; where old and new stay in sync it goes on. */
export function endsInResponse(entry: DeprecationEntry): boolean {
  return entry.lossless === "yes" && !isSetting(entry);
}

/** The response as it is after the cut-off of an entry: fields omitted, errors unwrapped. */
export function modernResponse(entry: DeprecationEntry, body: unknown): unknown {
  if (!isObject(body)) return body;
  if (entry.kind === "behaviour") {
    const unwrap = (error: Json): readonly Json[] =>
      isChained(error) ? unwrapErrorChain([error]).map((one) => ({ ...one })) : [error];
    return { ...body, errors: recordsOf(body["errors"]).flatMap(unwrap) };
  }
  const { result } = body;
  return {
    ...body,
    result: Array.isArray(result)
      ? result.map((one) => without(entry, one))
      : without(entry, result),
  };
}

function carries(entry: DeprecationEntry, record: Json): boolean {
  if (isSetting(entry)) return entry.fields.includes(String(record["id"]));
  if (entry.isCarriedBy !== undefined) return entry.isCarriedBy(record);
  return entry.fields.some((field) => hasPath(record, field.split(".")));
}

function without(entry: DeprecationEntry, record: unknown): unknown {
  if (!isObject(record) || !carries(entry, record)) return record;
  return entry.fields.reduce<Json>((rest, field) => withoutPath(rest, field.split(".")), record);
}

/** The route that changes several settings of a zone at once. */
export const BULK_SETTINGS = "/zones/{zone_id}/settings";

/** Lists of zone settings have one record per setting: there the "field" is a record's id. */
function isSetting(entry: DeprecationEntry): boolean {
  return entry.path === BULK_SETTINGS;
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

function recordsOf(value: unknown): Json[] {
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}

function isChained(value: Json): value is Json & ChainedError {
  return typeof value["code"] === "number" && typeof value["message"] === "string";
}
