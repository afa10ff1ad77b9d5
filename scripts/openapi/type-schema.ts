import { fileURLToPath } from "node:url";
import {
  API,
  type Checker,
  SymbolFlags,
  type Symbol as Member,
  type Type,
  TypeFlags,
} from "typescript/unstable/sync";

type Json = Readonly<Record<string, unknown>>;

/** The formats of texts, by the names of their members. */
const formats: readonly (readonly [format: string, names: RegExp])[] = [
  ["date-time", /_(?:at|on|until|activity|seen)$|^(?:at|timestamp|not_before|enforce_from)$/],
  ["date", /^(?:date|eol)$/],
];

/**
 * Returns the JSON Schema of every member of an interface, by its name, as the compiler knows its type. `same` gives the
 * schema of a member whose type is `SameAs<Body, Name>`. Throws for a file or an interface that does not exist.
 */
export function memberSchemas(
  file: URL,
  name: string,
  same: (body: string, member: string) => Json,
): Record<string, Json> {
  const api = new API();
  try {
    const config = fileURLToPath(new URL("../tsconfig.json", import.meta.url));
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config);
    const source = project?.program.getSourceFile(fileURLToPath(file));
    const module = source && project?.checker.getSymbolAtLocation(source);
    if (project === undefined || module === undefined)
      throw new Error(`${file.href} is not of ${config}`);
    const { checker } = project;
    const found = checker.getMemberInModuleExports(module, name);
    if (found === undefined) throw new Error(`${file.href} exports no ${name}`);
    const describe = describer(checker, same);
    const members = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(found));
    return Object.fromEntries(members.map((one) => [one.name, describe(typeOf(one, checker))]));
  } finally {
    api.close();
  }
}

function typeOf(member: Member, checker: Checker): Type {
  const type = checker.getTypeOfSymbol(member);
  if (type === undefined) throw new Error(`${member.name} has no type`);
  return type;
}

function describer(
  checker: Checker,
  same: (body: string, member: string) => Json,
): (type: Type, name?: string) => Json {
  const describe = (type: Type, name = ""): Json => {
    const alias = type.getAliasSymbol()?.name ?? type.getSymbol()?.name;
    if (alias === "Plain") return {};
    if (alias === "SameAs") {
      const [body, member] = type.isTypeReference()
        ? checker.getTypeArguments(type).map(literalOf)
        : [];
      return same(String(body), String(member));
    }
    if (type.isUnionType()) return union(type.getTypes(), name);
    if (type.isLiteralType()) return { const: type.value };
    if (type.flags & (TypeFlags.Any | TypeFlags.Unknown)) return {};
    if (type.flags & TypeFlags.String || type.isTemplateLiteralType()) return textNamed(name);
    if (type.flags & TypeFlags.Number) return { type: "number" };
    if (type.flags & TypeFlags.Null) return { type: "null" };
    if (checker.isTupleType(type)) return tuple(type);
    if (type.isTypeReference() && checker.isArrayLikeType(type)) {
      const [item] = checker.getTypeArguments(type);
      return { type: "array", items: item === undefined ? {} : describe(item, name) };
    }
    return object(type);
  };
  const union = (all: readonly Type[], name: string): Json => {
    const types = all.filter(({ flags }) => !(flags & TypeFlags.Undefined));
    const isBoolean = types.filter((one) => one.isBooleanLiteralType()).length === 2;
    const rest = types.filter((one) => !(isBoolean && one.isBooleanLiteralType()));
    const literals = rest.filter((one) => one.isLiteralType()).map(literalOf);
    const options = [
      ...(literals.length > 1 ? [enumOf(literals)] : literals.map((value) => ({ const: value }))),
      ...(isBoolean ? [{ type: "boolean" }] : []),
      ...rest.filter((one) => !one.isLiteralType()).map((one) => describe(one, name)),
    ];
    const [only = {}] = options;
    return options.length > 1 ? { anyOf: options } : only;
  };
  const tuple = (type: Type): Json => {
    const items = type.isTypeReference() ? checker.getTypeArguments(type) : [];
    return {
      type: "array",
      prefixItems: items.map((one) => describe(one)),
      minItems: items.length,
    };
  };
  const object = (type: Type): Json => {
    const members = checker.getPropertiesOfType(type);
    const [index] = checker.getIndexInfosOfType(type);
    const required = members.filter(({ flags }) => !(flags & SymbolFlags.Optional));
    return {
      type: "object",
      ...(members.length > 0 && {
        properties: Object.fromEntries(
          members.map((one) => [one.name, describe(typeOf(one, checker), one.name)]),
        ),
        required: required.map((one) => one.name),
      }),
      ...(index !== undefined && { additionalProperties: describe(index.valueType) }),
    };
  };
  return describe;
}

function textNamed(name: string): Json {
  const [format] = formats.find(([, names]) => names.test(name)) ?? [];
  return { type: "string", ...(format !== undefined && { format }) };
}

function literalOf(type: Type): unknown {
  return type.isLiteralType() ? type.value : undefined;
}

function enumOf(values: readonly unknown[]): Json {
  const [type, ...more] = new Set(values.map((value) => typeof value));
  return { enum: values, ...(more.length === 0 && { type }) };
}
