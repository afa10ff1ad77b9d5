import { asObject, type Json, jsonText, ownMember } from "../../../http/json.ts";

/** Members whose values are taken as they are; `additionalProperties` is taken as false alone. */
const TAKEN: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "const",
  "title",
  "description",
  "default",
  "required",
]);
const FORMATS: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);
/** Members that hold schemas by names, and the names of those that hold one or several. */
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const HELD: Readonly<Record<string, string>> = {
  items: "items",
  anyOf: "anyOf",
  oneOf: "anyOf",
  allOf: "allOf",
};

/**
 * Returns the schema of an answer as Anthropic takes it: each object is closed, and bounds that it refuses are said in the
 * description, as its own clients do (https://platform.claude.com/docs/en/build-with-claude/structured-outputs).
 */
export function outputSchema(schema: Json): Json {
  const { $ref: reference, ...beside } = schema;
  if (typeof reference === "string") {
    const named = Object.entries(beside).filter(([key]) => NAMED.has(key));
    return {
      ...Object.fromEntries(named.map(([key, one]) => [key, byName(one)])),
      $ref: reference,
    };
  }
  const out: { [name: string]: unknown } = {};
  const said: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    const held = ownMember(HELD, key);
    if (NAMED.has(key)) out[key] = byName(value);
    else if (held !== undefined) out[held] = within(value);
    else if (isTaken(key, value)) out[key] = value;
    else if (!isNeedless(key, value)) said.push(`${key}: ${JSON.stringify(value)}`);
  }
  if ([schema["type"]].flat().includes("object")) out["additionalProperties"] = false;
  if (said.length === 0) return out;
  const description = [jsonText(schema["description"]), `{${said.join(", ")}}`];
  return { ...out, description: description.filter((one) => one !== "").join("\n\n") };
}

function isTaken(key: string, value: unknown): boolean {
  if (key === "format") return FORMATS.has(value);
  if (key === "minItems") return value === 0 || value === 1;
  return TAKEN.has(key);
}

/** Whether a member bounds nothing, or only says whether objects are closed. */
function isNeedless(key: string, value: unknown): boolean {
  return key === "$schema" || (key === "additionalProperties" && typeof value === "boolean");
}

function byName(value: unknown): Json {
  const named = Object.entries(asObject(value) ?? {});
  return Object.fromEntries(named.map(([name, one]) => [name, within(one)]));
}

function within(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(within);
  const schema = asObject(value);
  return schema === null ? value : outputSchema(schema);
}
