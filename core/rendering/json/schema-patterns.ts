import { ApiError } from "../../http/api-error.ts";
import { isObject } from "../../http/json.ts";
import {
  type LinearPattern,
  type LinearPatterns,
  linearPatterns,
} from "../../text/linear-pattern.ts";

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
/** Steps of all patterns through all strings, each some ten ns at most; and after how many others have a turn. */
const STEPS = 100_000_000;
const STEPS_AT_ONCE = 500_000;

/** Says which of a document's strings a pattern matches. */
type Matched = (pattern: string) => Generator<void, readonly string[], void>;

/**
 * Replaces each pattern of the schema by the strings of the document that it matches. The patterns come from the caller:
 * here they run in linear time (RE2), and the validator's own engine, which may take for ever, only compares.
 * @throws ApiError `invalid_request` for an invalid pattern, or one that needs lookaround or backreferences,
 *   and when all take too long together
 */
export function* withoutPatterns(
  schema: Keywords,
  strings: ReadonlySet<string>,
): Generator<void, Record<string, unknown>, void> {
  const seen = new Map<string, readonly string[]>();
  const linear = linearPatterns();
  const meter = { left: STEPS, atOnce: STEPS_AT_ONCE };
  const matched: Matched = function* (pattern) {
    const known = seen.get(pattern);
    if (known !== undefined) return known;
    if (seen.size >= PATTERNS) throw refused(`a schema may have ${PATTERNS} patterns`);
    const found = yield* matching(compile(pattern, linear), strings, meter);
    seen.set(pattern, found);
    return found;
  };
  return yield* replaced(schema, matched);
}

/** Returns the strings that a pattern matches. */
function* matching(
  pattern: LinearPattern,
  strings: ReadonlySet<string>,
  meter: { left: number; atOnce: number },
): Generator<void, readonly string[], void> {
  const found: string[] = [];
  for (const text of strings) {
    const steps = pattern.size * (text.length + 1);
    meter.left -= steps;
    meter.atOnce -= steps;
    if (meter.left < 0) throw refused("matching its patterns takes too long for such an answer");
    if (pattern.find(text)) found.push(text);
    if (meter.atOnce > 0) continue;
    meter.atOnce = STEPS_AT_ONCE;
    yield;
  }
  return found;
}

function* replaced(
  schema: Keywords,
  matched: Matched,
): Generator<void, Record<string, unknown>, void> {
  const made: Record<string, unknown> = {};
  const all: unknown[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "pattern" && typeof value === "string")
      all.push({ anyOf: [{ not: { type: "string" } }, { enum: yield* matched(value) }] });
    // An annotation, as the specification has it by default.
    else if (keyword !== "format") made[keyword] = yield* valueOf(keyword, value, matched);
  }
  if (all.length === 0) return made;
  return { ...made, allOf: [...(Array.isArray(made["allOf"]) ? made["allOf"] : []), ...all] };
}

function* valueOf(
  keyword: string,
  value: unknown,
  matched: Matched,
): Generator<void, unknown, void> {
  if (data.has(keyword)) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const one of value) list.push(yield* valueOf("", one, matched));
    return list;
  }
  if (!isObject(value)) return value;
  if (!maps.has(keyword)) return yield* replaced(value, matched);
  const made: [string, unknown][] = [];
  for (const [name, one] of Object.entries(value)) {
    const key = keyword === "patternProperties" ? anyOf(yield* matched(name), name) : name;
    made.push([key, yield* valueOf("", one, matched)]);
  }
  return Object.fromEntries(made);
}

/** Makes a pattern that matches these texts only; `name` keeps two patterns that match the same apart. */
function anyOf(texts: readonly string[], name: string): string {
  const escape = (text: string): string =>
    text.replaceAll(/[$()*+./?[\\\]^{|}]/gu, String.raw`\$&`);
  const none = `(?!)${escape(name)}`;
  return `^(?:${[...texts.map(escape), none].join("|")})$`;
}

function compile(pattern: string, linear: LinearPatterns): LinearPattern {
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
