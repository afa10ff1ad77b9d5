import { withoutEscapes } from "./raw-query.ts";
import { isObject, type Json, jsonObject } from "../../http/json.ts";

/** The document around a schema, and what is done to the schema of a field. */
interface Marking {
  readonly document: Json;
  readonly mark: (property: Json) => Json;
}

/** The members of a schema that hold one schema, and those that hold several (JSON Schema 2020-12, sections 10 and 11). */
const SINGLE = ["items", "additionalProperties", "not", "if", "then", "else", "contains"] as const;
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;

/**
 * A schema in which the properties named by `fields` are marked, at any depth; `"customer.fax"` is the `fax` of any
 * `customer`. A referenced schema is copied to its place if something in it is marked, because other operations share it.
 * The very same schema if nothing is.
 */
export function markFields(schema: unknown, fields: readonly string[], marking: Marking): unknown {
  const paths = fields.map((field) => field.split("."));
  return walk(schema, paths, { ...marking, paths, known: new Map() });
}

interface Walk extends Marking {
  readonly paths: readonly (readonly string[])[];
  /** Referenced schemas that were looked at, by the fields that were looked for; undefined for one that is under way. */
  readonly known: Map<string, unknown>;
}

function walk(schema: unknown, wanted: readonly (readonly string[])[], way: Walk): unknown {
  if (!isObject(schema)) return schema;
  const { $ref: reference } = schema;
  if (typeof reference === "string") return walkReference(schema, reference, wanted, way);
  const changes = Object.entries({
    properties: ofProperties(schema["properties"], wanted, way),
    ...Object.fromEntries(SINGLE.map((name) => [name, walk(schema[name], wanted, way)])),
    ...Object.fromEntries(LISTS.map((name) => [name, ofList(schema[name], wanted, way)])),
  }).filter(([name, one]) => one !== schema[name]);
  return changes.length === 0 ? schema : { ...schema, ...Object.fromEntries(changes) };
}

/** A schema that contains itself is copied once: its inner reference stays. */
function walkReference(
  schema: Json,
  reference: string,
  wanted: readonly (readonly string[])[],
  way: Walk,
): unknown {
  const key = JSON.stringify([reference, wanted]);
  if (!way.known.has(key)) {
    way.known.set(key, undefined);
    const target = dereferenced(schema, way.document);
    const walked = walk(target, wanted, way);
    way.known.set(key, walked === target ? undefined : walked);
  }
  return way.known.get(key) ?? schema;
}

function ofList(list: unknown, wanted: readonly (readonly string[])[], way: Walk): unknown {
  if (!Array.isArray(list)) return list;
  const walked = list.map((one: unknown) => walk(one, wanted, way));
  return walked.some((one, index) => one !== list[index]) ? walked : list;
}

function ofProperties(
  properties: unknown,
  wanted: readonly (readonly string[])[],
  way: Walk,
): unknown {
  if (!isObject(properties)) return properties;
  const changes = Object.entries(properties).flatMap(([name, property]) => {
    const deeper = wanted.flatMap(([first, ...rest]) =>
      first === name && rest.length > 0 ? [rest] : [],
    );
    const inner = walk(property, [...way.paths, ...deeper], way);
    const isField = wanted.some(([first, second]) => first === name && second === undefined);
    const marked = isField ? way.mark(jsonObject(dereferenced(inner, way.document))) : inner;
    return marked === property ? [] : [[name, marked] as const];
  });
  return changes.length === 0 ? properties : { ...properties, ...Object.fromEntries(changes) };
}

/** References that lead to references are followed so far. */
const STEPS = 16;

/** Resolves a reference within the document; anything else is returned as it is. */
export function dereferenced(value: unknown, document: Json): unknown {
  let found = value;
  for (let step = 0; step < STEPS; step++) {
    const { $ref: reference } = jsonObject(found);
    if (typeof reference !== "string" || !reference.startsWith("#/")) return found;
    const names = reference.slice(2).split("/").map(unescaped);
    found = names.reduce<unknown>((at, name) => jsonObject(at)[name], document);
  }
  return undefined;
}

/** A part of a JSON pointer in a URI (RFC 6901, section 6); one with bad escapes is taken as it stands. */
function unescaped(part: string): string {
  return withoutEscapes(part).replaceAll("~1", "/").replaceAll("~0", "~");
}
