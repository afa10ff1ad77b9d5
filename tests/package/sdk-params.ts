import { readFileSync } from "node:fs";
import type { Comment, Node, TSSignature, TSType } from "oxc-parser";
import { parseSync } from "oxc-parser";

/** Where a parameter of the official client travels. */
export type Carrier = "body" | "query";

type Scope = ReadonlyMap<string, Node>;

/**
 * Samples of what a `…Params` type of a declaration file of the official client may hold: every field at every depth,
 * and every alternative of a union in one of them.
 */
export function sdkSamples(file: string, type: string, carrier: Carrier): unknown[] {
  const source = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, source);
  const scope = new Map<string, Node>();
  declare(program.body, "", scope);
  const carried = (member: TSSignature): boolean => isCarried(member, comments, carrier);
  const found = scope.get(type);
  if (found === undefined) throw new Error(`${file} declares no ${type}`);
  return samplesOf(found, type, scope, carried);
}

function declare(body: readonly Node[], prefix: string, scope: Map<string, Node>): void {
  for (const statement of body) {
    const node =
      statement.type === "ExportNamedDeclaration"
        ? (statement.declaration ?? statement)
        : statement;
    if (node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration") {
      scope.set(prefix + node.id.name, node);
    } else if (node.type === "TSModuleDeclaration" && node.id.type === "Identifier") {
      const inner = node.body?.type === "TSModuleBlock" ? node.body.body : [];
      declare(inner, `${prefix}${node.id.name}.`, scope);
    }
  }
}

/** The client says of each parameter by a comment where it goes, but where all go the same way. */
function isCarried(member: TSSignature, comments: readonly Comment[], carrier: Carrier): boolean {
  const comment = comments.findLast(({ end }) => end <= member.start)?.value ?? "";
  const said = /^[\s*]*(Path|Body|Query|Header) param/.exec(comment)?.[1]?.toLowerCase();
  if (said !== undefined) return said === carrier;
  return !("key" in member && member.key.type === "Identifier" && member.key.name === "account_id");
}

function samplesOf(
  node: Node,
  name: string,
  scope: Scope,
  carried: (member: TSSignature) => boolean = () => true,
): unknown[] {
  if (node.type === "TSTypeAliasDeclaration") {
    return typeSamples(node.typeAnnotation, name, scope, carried);
  }
  if (node.type !== "TSInterfaceDeclaration") return [{}];
  return objectSamples(node.body.body.filter(carried), name, scope);
}

function objectSamples(members: readonly TSSignature[], name: string, scope: Scope): unknown[] {
  const fields = members.flatMap((member) => {
    if (member.type !== "TSPropertySignature" || member.typeAnnotation === null) return [];
    const key = member.key.type === "Identifier" ? member.key.name : literalOf(member.key);
    const samples = typeSamples(member.typeAnnotation.typeAnnotation, name, scope);
    return [[String(key), samples] as const];
  });
  const count = Math.max(1, ...fields.map(([, samples]) => samples.length));
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(fields.map(([key, samples]) => [key, samples[i % samples.length]])),
  );
}

function typeSamples(
  type: TSType,
  name: string,
  scope: Scope,
  carried?: (member: TSSignature) => boolean,
): unknown[] {
  switch (type.type) {
    case "TSUnionType":
      return type.types
        .filter((one) => one.type !== "TSNullKeyword")
        .flatMap((one) => typeSamples(one, name, scope, carried));
    case "TSArrayType":
      return [typeSamples(type.elementType, name, scope)];
    case "TSTypeLiteral":
      return objectSamples(type.members, name, scope);
    case "TSLiteralType":
      return [literalOf(type.literal)];
    case "TSTypeReference":
      return referenced(type, name, scope, carried);
    default:
      return [type.type === "TSNumberKeyword" ? 1 : type.type === "TSBooleanKeyword" ? true : "x"];
  }
}

function referenced(
  type: Extract<TSType, { type: "TSTypeReference" }>,
  name: string,
  scope: Scope,
  carried?: (member: TSSignature) => boolean,
): unknown[] {
  const target = nameOf(type.typeName);
  const [item] = type.typeArguments?.params ?? [];
  if (target === "Array" && item !== undefined) return [typeSamples(item, name, scope)];
  // A name is looked up from the inside out, as the language does.
  for (let within = name; ; within = within.slice(0, Math.max(0, within.lastIndexOf(".")))) {
    const full = within === "" ? target : `${within}.${target}`;
    const found = scope.get(full);
    if (found !== undefined) return samplesOf(found, full, scope, carried);
    if (within === "") return [{}];
  }
}

function nameOf(name: Node): string {
  if (name.type === "Identifier") return name.name;
  return name.type === "TSQualifiedName" ? `${nameOf(name.left)}.${name.right.name}` : "";
}

function literalOf(node: Node): unknown {
  return node.type === "Literal" ? node.value : "x";
}
