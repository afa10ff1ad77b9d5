import { ApiError } from "../../http/api-error.ts";
import { isObject } from "../../http/json.ts";
import { type LinearPatterns, linearPatterns } from "../../text/linear-pattern.ts";

type Keywords = Readonly<Record<string, unknown>>;

/** Keywords whose members are schemas by name, and those whose value is data. */
const maps = new Set([
  "$defs",
  "definitions",
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
]);
const data = new Set(["enum", "const", "default", "examples", "required", "dependentRequired"]);

/** Patterns of one schema. */
const PATTERNS = 100;

/** Says which of a document's strings a pattern matches. */
type Matched = (pattern: string) => readonly string[];

/**
 * Replaces each pattern of the schema by the strings of the document that it matches. The patterns come from the caller:
 * here they run in linear time (RE2), and the validator's own engine, which may take for ever, only compares.
 * @throws ApiError `invalid_request` for an invalid pattern, or one that needs lookaround or backreferences
 */
export function withoutPatterns(
  schema: Keywords,
  strings: ReadonlySet<string>,
): Record<string, unknown> {
  const seen = new Map<string, readonly string[]>();
  const linear = linearPatterns();
  const matched: Matched = (pattern) => {
    const known = seen.get(pattern);
    if (known !== undefined) return known;
    if (seen.size >= PATTERNS) throw refused(`a schema may have ${PATTERNS} patterns`);
    const compiled = compile(pattern, linear);
    const found = [...strings].filter((text) => compiled.find(text));
    seen.set(pattern, found);
    return found;
  };
  return replaced(schema, matched);
}

function replaced(schema: Keywords, matched: Matched): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  const all: unknown[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "pattern" && typeof value === "string")
      all.push({ anyOf: [{ not: { type: "string" } }, { enum: matched(value) }] });
    // An annotation, as the specification has it by default.
    else if (keyword !== "format") made[keyword] = valueOf(keyword, value, matched);
  }
  if (all.length === 0) return made;
  return { ...made, allOf: [...(Array.isArray(made["allOf"]) ? made["allOf"] : []), ...all] };
}

function valueOf(keyword: string, value: unknown, matched: Matched): unknown {
  if (data.has(keyword)) return value;
  if (Array.isArray(value)) return value.map((one) => valueOf("", one, matched));
  if (!isObject(value)) return value;
  if (!maps.has(keyword)) return replaced(value, matched);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      keyword === "patternProperties" ? anyOf(matched(name), name) : name,
      valueOf("", one, matched),
    ]),
  );
}

/** Makes a pattern that matches these texts only; `name` keeps two patterns that match the same apart. */
function anyOf(texts: readonly string[], name: string): string {
  const escape = (text: string): string =>
    text.replaceAll(/[$()*+./?[\\\]^{|}]/gu, String.raw`\$&`);
  const none = `(?!)${escape(name)}`;
  return `^(?:${[...texts.map(escape), none].join("|")})$`;
}

function compile(pattern: string, linear: LinearPatterns): ReturnType<LinearPatterns["compile"]> {
  try {
    return linear.compile(pattern);
  } catch (error) {
    const why = error instanceof TypeError ? error.message : "";
    throw refused(
      `the pattern "${pattern.slice(0, 80)}" is not supported: ${why}; lookaround and backreferences are not`,
      error,
    );
  }
}

function refused(what: string, cause?: unknown): ApiError {
  return new ApiError("invalid_request", {
    message: `response_format.json_schema: ${what}`,
    cause,
  });
}
