import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";

/** A file of a form, as OpenAPI 3.1 writes it. */
const FILE = { type: "string", contentMediaType: "application/octet-stream" } as const;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of a valibot schema's input. Checks that only code can do, e.g. that a pattern is safe, are left
 * out: such a schema allows more than the server does, and never less.
 */
export function jsonSchemaOf(schema: GenericSchema): Fields {
  // `as`: the same schema, with one schema and no metadata of ours in each pipe.
  const plain = plainOf(schema) as GenericSchema;
  const options = { typeMode: "input", errorMode: "ignore", target: "draft-2020-12" } as const;
  const { $schema: _, ...own } = toJsonSchema(plain, {
    ...options,
    overrideSchema: ({ valibotSchema: { type } }) => (type === "file" ? FILE : undefined),
  }) as Fields;
  if ("$defs" in own) throw new Error("A recursive schema needs a component of its own");
  return own;
}

/**
 * Returns the schema as the converter understands it: of several schemas in a pipe it takes the first alone, and metadata
 * it takes for JSON Schema.
 */
function plainOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainOf);
  if (!isFields(schema)) return schema;
  const { pipe } = schema;
  if (Array.isArray(pipe)) return plainPipe(schema, flat(pipe));
  const { kind } = schema;
  if (kind !== "schema") return schema;
  const inner = ["item", "items", "wrapped", "options", "value", "rest"].filter(
    (name) => name in schema,
  );
  const changed = Object.fromEntries(inner.map((name) => [name, plainOf(schema[name])]));
  const { entries } = schema;
  if (!isFields(entries)) return { ...schema, ...changed };
  const plainEntries = Object.entries(entries).map(([name, entry]) => [name, plainOf(entry)]);
  return { ...schema, ...changed, entries: Object.fromEntries(plainEntries) };
}

function plainPipe(schema: Fields, pipe: readonly Fields[]): unknown {
  const held = pipe
    .map(({ metadata }) => (isFields(metadata) ? metadata["holds"] : undefined))
    .find(isFields);
  if (held !== undefined) return plainOf(held);
  const end = pipe.findIndex(({ kind }) => kind === "transformation");
  const before = end === -1 ? pipe : pipe.slice(0, end);
  // A later schema says what the value is; the ones before, what it is not.
  const last = before.findLastIndex(({ kind }) => kind === "schema");
  const [base, ...actions] = before.slice(Math.max(last, 0));
  const own = actions.filter(({ kind }) => kind === "validation");
  return { ...schema, pipe: [plainOf(base), ...own] };
}

function flat(pipe: readonly unknown[]): Fields[] {
  return pipe
    .filter(isFields)
    .flatMap((item) => (Array.isArray(item["pipe"]) ? flat(item["pipe"]) : [item]));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
