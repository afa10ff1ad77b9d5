/** Fields of a sample that a JSON Schema does not name. */
export function unnamed(sample: unknown, schema: unknown, path = ""): string[] {
  if (typeof sample !== "object" || sample === null) return [];
  const shapes = shapesOf(schema);
  if (Array.isArray(sample)) {
    const items = shapes.map(({ items: one }) => one).filter((one) => one !== undefined);
    return sample.flatMap((one) => unnamed(one, { anyOf: items }, `${path}[]`));
  }
  return Object.entries(sample).flatMap(([name, value]) => {
    const found = shapes.flatMap(({ properties, additionalProperties: more }) =>
      properties !== undefined && name in properties
        ? [properties[name]]
        : isOpen(more)
          ? [more]
          : [],
    );
    const isFree = shapes.some(
      ({ type, properties }) => type === undefined && properties === undefined,
    );
    if (found.length === 0) return isFree ? [] : [`${path}.${name}`];
    return unnamed(value, { anyOf: found }, `${path}.${name}`);
  });
}

interface Shape {
  readonly type?: string;
  readonly items?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
}

function isOpen(more: unknown): boolean {
  return more === true || (typeof more === "object" && more !== null);
}

function shapesOf(schema: unknown): Shape[] {
  const { anyOf, oneOf } = schema as { anyOf?: unknown[]; oneOf?: unknown[] };
  const options = anyOf ?? oneOf;
  return options === undefined ? [schema as Shape] : options.flatMap(shapesOf);
}
