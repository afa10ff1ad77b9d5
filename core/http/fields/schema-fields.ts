import { isObject } from "../json.ts";
import * as v from "valibot";

/** The fields that schemas know in one object. */
export interface KnownFields {
  /** Whether any other name is a field, too. */
  readonly isOpen: boolean;
  /** The schemas of a field's value; undefined for an unknown field. */
  of(name: string): readonly unknown[] | undefined;
  names(): readonly string[];
}

/** Marks fields in a pipe that may be sent and have no effect, such as those that only answers carry. */
export function ignores<T>(
  ...names: readonly string[]
): v.MetadataAction<T, { readonly ignores: Readonly<Record<string, true>> }> {
  return v.metadata({ ignores: Object.fromEntries(names.map((name) => [name, true as const])) });
}

/** Refuses a list at the beginning of a pipe: `v.object` and `v.record` alone take it for an object. */
export const notArray: v.GenericSchema = v.custom<unknown>(
  (value) => !Array.isArray(value),
  "expected an object, got a list",
);

/** Declares in a pipe the schema of a value that is checked later. */
export function holds<T>(
  schema: v.GenericSchema,
): v.MetadataAction<T, { readonly holds: v.GenericSchema }> {
  return v.metadata({ holds: schema });
}

/** The fields that schemas know in an object; null if none of the schemas describes objects. */
export function knownFields(schemas: readonly unknown[], value: object): KnownFields | null {
  const shapes = schemas.flatMap((one) => alternatives(one, value));
  const objects = shapes.map((one) => member(one, "entries")).filter(isObject);
  const isOpen = shapes.some((one) => openTypes.has(member(one, "type")));
  if (objects.length === 0 && !isOpen) return null;
  const ignored = shapes.map((one) => member(one, "ignores")).filter(isObject);
  return {
    isOpen,
    of(name) {
      const entries = objects.filter((one) => Object.hasOwn(one, name)).map((one) => one[name]);
      if (entries.length > 0) return entries;
      if (ignored.some((one) => Object.hasOwn(one, name))) return [];
      return isOpen ? shapes.map((one) => member(one, "value")).filter(isSchema) : undefined;
    },
    names: () => [...objects, ...ignored].flatMap(Object.keys),
  };
}

/** The schemas of the items of a list. */
export function itemSchemas(schemas: readonly unknown[], value: unknown): readonly unknown[] {
  return schemas
    .flatMap((one) => alternatives(one, value))
    .map((one) => member(one, "item"))
    .filter((one) => one !== undefined);
}

/** A value, and the schema that it was checked against. */
export interface CheckedValue {
  readonly schema: v.GenericSchema;
  readonly value: unknown;
}

/** The texts that a field takes, where its schema is a choice of a few; none for any other field. */
export function choicesAt(checked: CheckedValue, path: readonly unknown[]): string[] {
  const { schemas, value } = schemasAt(checked, path);
  const texts = schemas
    .flatMap((one) => alternatives(one, value))
    .flatMap((one) => member(one, "options") ?? member(one, "literal"))
    .filter((one) => typeof one === "string");
  return texts.length > MOST_CHOICES ? [] : [...new Set(texts)];
}

/** The names of the fields that an object takes. */
export function namesAt(checked: CheckedValue, path: readonly unknown[]): string[] {
  const { schemas, value } = schemasAt(checked, path);
  const names = isObject(value) ? knownFields(schemas, value)?.names() : undefined;
  return [...new Set(names)];
}

/** Follows a path into a value and its schema. */
function schemasAt(
  { schema, value }: CheckedValue,
  path: readonly unknown[],
): { readonly schemas: readonly unknown[]; readonly value: unknown } {
  let schemas: readonly unknown[] = [schema];
  let at = value;
  for (const key of path) {
    if (Array.isArray(at)) schemas = itemSchemas(schemas, at);
    else if (isObject(at)) schemas = knownFields(schemas, at)?.of(String(key)) ?? [];
    else return { schemas: [], value: undefined };
    at = Reflect.get(at, String(key));
  }
  return { schemas, value: at };
}

/** Choices or names that a message lists. */
export const MOST_CHOICES = 12;

const openTypes: ReadonlySet<unknown> = new Set([
  "record",
  "unknown",
  "any",
  "loose_object",
  "object_with_rest",
]);

/** The schemas that a value may have to fit, inside `optional()`, `pipe()`, `union()` and their like. */
function alternatives(schema: unknown, value: unknown): readonly unknown[] {
  const pipe = member(schema, "pipe");
  if (Array.isArray(pipe)) return piped(pipe, value);
  const wrapped = member(schema, "wrapped");
  if (wrapped !== undefined) return alternatives(wrapped, value);
  const options = member(schema, "options");
  if (!Array.isArray(options) || member(schema, "type") === "picklist") return [schema];
  const key = member(schema, "key");
  const chosen =
    typeof key === "string" ? options.filter((option) => fits(option, key, value)) : options;
  return (chosen.length === 0 ? options : chosen).flatMap((one) => alternatives(one, value));
}

/** Steps after a transformation see another value. */
function piped(pipe: readonly unknown[], value: unknown): readonly unknown[] {
  const end = pipe.findIndex((item) => member(item, "kind") === "transformation");
  return pipe.slice(0, end === -1 ? pipe.length : end).flatMap((item) => {
    const kind = member(item, "kind");
    if (kind === "schema") return alternatives(item, value);
    const metadata = kind === "metadata" ? member(item, "metadata") : undefined;
    const held = member(metadata, "holds");
    if (held !== undefined) return alternatives(held, value);
    return member(metadata, "ignores") === undefined ? [] : [metadata];
  });
}

/** Whether an option of a variant is the one that the value's discriminator names. */
function fits(option: unknown, key: string, value: unknown): boolean {
  return alternatives(option, value).some((one) => {
    const discriminator = member(member(one, "entries"), key);
    return isSchema(discriminator) && v.is(discriminator, member(value, key));
  });
}

function isSchema(value: unknown): value is v.GenericSchema {
  return member(value, "kind") === "schema";
}

function member(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}
