/** A JSON object, seen from outside: anything may be in it. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is an object with members, and no list. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as an object; null when it is anything else. */
export function asObject(value: unknown): Json | null {
  return isObject(value) ? value : null;
}

/** The value of a JSON text; undefined when it is none. */
export function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The object of a JSON text; null when it is none. */
export function parsedObject(json: string): Json | null {
  return asObject(parsedJson(json));
}

/** The value as an object; an empty one when it is anything else, so that paths can be followed. */
export function jsonObject(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** The elements of an array as objects; none when it is anything else. */
export function jsonObjects(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(jsonObject) : [];
}

/** The value as text; a number is written out, anything else is the fallback. */
export function jsonText(value: unknown, fallback: string = ""): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : fallback;
}

/** The value as a count; 0 when it is anything else. */
export function jsonCount(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** A value of a record's body. */
export type Value =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Value[]
  | { readonly [key: string]: Value };
