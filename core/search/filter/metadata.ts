import { exactScalar } from "../../http/json/json-source.ts";
import { isObject, ownMember, parsedJson } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";
import { parseInstant } from "../../http/fields/instant.ts";
import { isScalar, type Scalar } from "./filter.ts";

/** The type of a field that an instance indexes for filters. */
export type FieldType = "text" | "number" | "boolean" | "datetime";

/** One entry of an instance's `custom_metadata` schema. */
export type MetadataField = { readonly field_name: string; readonly data_type: FieldType };

/** Metadata of an item; values are scalars. */
export type Metadata = Readonly<Record<string, Scalar>>;

/** A warning to an uploader about metadata that no filter will see (docs/compatibility.md). */
export type MetadataWarning =
  | {
      readonly code: "custom_metadata_value_not_indexed";
      readonly field: string;
      readonly expected_type: FieldType;
    }
  | { readonly code: "custom_metadata_field_not_filterable"; readonly field: string };

/** A value as the filter index holds it: one of the two is null. */
export type IndexedValue = {
  readonly field: string;
  readonly num: number | null;
  readonly txt: string | null;
};

/** Names that every item has by itself. */
export const builtinFields: readonly string[] = ["timestamp", "folder", "filename"];

const MAX_FIELDS = 64;
const MAX_BYTES = 16 * 1024;
const MAX_TEXT = 500;

/**
 * Reads the `metadata` field of an upload: a JSON object of scalars, of which a number without an exact form becomes text.
 * Throws 7056.
 */
export function parseMetadata(source: string | undefined): Metadata {
  if (source === undefined || source.trim() === "") return {};
  if (source.length > MAX_BYTES) throw invalid(`it is over ${MAX_BYTES} characters`);
  const raw = parsedJson(source);
  if (raw === undefined) throw invalid("it is not valid JSON");
  if (!isObject(raw)) throw invalid("it must be an object");
  const entries = Object.entries(raw);
  if (entries.length > MAX_FIELDS) throw invalid(`it has more than ${MAX_FIELDS} fields`);
  for (const [field, value] of entries) {
    if (field === "" || field.length > 64) throw invalid("a field name has 1 to 64 characters");
    if (!isScalar(value))
      throw invalid(`the value of "${field}" must be a string, a number or a boolean`);
  }
  return Object.fromEntries(
    entries.map(([field, value]) => [
      field.toLowerCase(),
      typeof value === "number" ? exactScalar(source, field, value) : (value as Scalar),
    ]),
  );
}

function invalid(why: string): ApiError {
  return new ApiError("invalid_metadata", { message: `invalid_metadata_format: ${why}` });
}

/** Metadata that follows from an item's key and the time of its change (Unix ms). */
export function builtinMetadata(
  key: string,
  modified: number,
): { filename: string; folder: string; timestamp: number } {
  const cut = key.lastIndexOf("/") + 1;
  return { filename: key.slice(cut), folder: key.slice(0, cut), timestamp: modified };
}

/** The values that filters see, and what the uploader is told about the others. */
export function indexMetadata(
  key: string,
  modified: number,
  metadata: Metadata,
  schema: readonly MetadataField[],
): { readonly values: IndexedValue[]; readonly warnings: MetadataWarning[] } {
  const builtin = builtinMetadata(key, modified);
  const values: IndexedValue[] = [
    { field: "filename", num: null, txt: comparable(builtin.filename) },
    { field: "folder", num: null, txt: comparable(builtin.folder) },
    { field: "timestamp", num: Math.floor(modified / 1000), txt: null },
  ];
  const warnings: MetadataWarning[] = [];
  const types = new Map(schema.map((field) => [field.field_name, field.data_type]));
  for (const [field, value] of Object.entries(metadata)) {
    const type = types.get(field);
    if (type === undefined) {
      warnings.push({ code: "custom_metadata_field_not_filterable", field });
      continue;
    }
    const indexed = indexedValue(type, value);
    if (indexed === null) {
      warnings.push({ code: "custom_metadata_value_not_indexed", field, expected_type: type });
    } else values.push({ field, ...indexed });
  }
  return { values, warnings };
}

/** Metadata with what a file says about itself, where the schema has such a field and the uploader left it out. */
export function withFileFields(
  metadata: Metadata,
  fields: Metadata,
  schema: readonly MetadataField[],
): Metadata {
  const added = schema.flatMap(({ field_name: field, data_type: type }) => {
    const said = ownMember(fields, field);
    if (said === undefined || Object.hasOwn(metadata, field)) return [];
    const value = type === "text" ? String(said) : said;
    return indexedValue(type, value) === null ? [] : [[field, value] as const];
  });
  return { ...metadata, ...Object.fromEntries(added) };
}

type Value = Omit<IndexedValue, "field">;

/** A value in the form that is compared; null when it does not fit the type. */
export function indexedValue(type: FieldType, value: Scalar): Value | null {
  if (type === "text") {
    return typeof value === "string" && value.length <= MAX_TEXT
      ? { num: null, txt: comparable(value) }
      : null;
  }
  const num =
    type === "number"
      ? numeric(value)
      : type === "boolean"
        ? (TRUTH.get(String(value).toLowerCase()) ?? null)
        : seconds(value);
  return num === null ? null : { num, txt: null };
}

function numeric(value: Scalar): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "boolean" || value.trim() === "") return null;
  const parsed = Number(value);
  return Number.isFinite(parsed) ? parsed : null;
}

const TRUTH: ReadonlyMap<string, number> = new Map([
  ["true", 1],
  ["1", 1],
  ["yes", 1],
  ["false", 0],
  ["0", 0],
  ["no", 0],
]);

/** Below this a number is seconds, otherwise milliseconds: 1e11 s is the year 5138 (docs/compatibility.md). */
const MILLISECONDS_FROM = 1e11;

/** A point in time as whole Unix seconds; null when it is none. */
export function seconds(value: Scalar): number | null {
  if (typeof value === "number")
    return Math.floor(Math.abs(value) < MILLISECONDS_FROM ? value : value / 1000);
  const time = typeof value === "string" ? parseInstant(value) : null;
  return time === null ? null : Math.floor(time / 1000);
}

const encoder = new TextEncoder();

/** The part of a string that takes part in comparisons: its first 64 UTF-8 bytes, on a character boundary. */
export function comparable(text: string): string {
  if (text.length <= 16) return text.toWellFormed();
  const { read } = encoder.encodeInto(text, new Uint8Array(64));
  return text.slice(0, read).toWellFormed();
}
