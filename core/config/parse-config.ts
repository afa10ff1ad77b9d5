import * as v from "valibot";
import { invalidRequest } from "../http/api-error.ts";
import { fromJson } from "../http/fields/from-json.ts";
import { withSecrets } from "./secrets-in-environment.ts";
import { misfitWords } from "../http/fields/misfit.ts";
import { didYouMean } from "../text/nearest.ts";
import { resolveEnv, type ReadEnv } from "./resolve-env.ts";
import { type Config, configSchema } from "./config.ts";

/**
 * Checks a configuration: JSON text, or the value itself. Errors are `ApiError` 400 whose message is one line
 * that names the key, and the key that was probably meant. The environment gives secrets, see `secrets-in-environment.ts`.
 *
 * @example
 * ```ts
 * import { parseConfig } from "causey";
 *
 * parseConfig('{ "accountId": "acme" }', () => undefined).accountId; // → "acme"
 * ```
 */
export function parseConfig(input: unknown, env: ReadEnv): Config {
  const value = typeof input === "string" ? fromJson(input, "The configuration") : input;
  const result = v.safeParse(configSchema, resolveEnv(withSecrets(value, env), env));
  if (result.success) return result.output;
  throw invalidRequest(describeIssue(result.issues[0]));
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
  const keys = (issue.path ?? []).map((item) => String(item.key));
  const path = keys.join(".");
  if (issue.expected !== "never") {
    const missing = issue.received === "undefined" ? "it is missing" : null;
    return `Configuration key "${path}": ${missing ?? misfitWords(issue, false)}`;
  }
  const last = keys.at(-1) ?? "";
  return `Unknown configuration key "${path}"${didYouMean(last, siblings(keys.slice(0, -1)))}`;
}

/** The keys that the schema allows below a path. */
function siblings(path: readonly string[]): readonly string[] {
  let at: unknown = configSchema;
  for (const key of path) at = child(at, key);
  const entries = member(unwrap(at), "entries");
  return typeof entries === "object" && entries !== null ? Object.keys(entries) : [];
}

function child(schema: unknown, key: string): unknown {
  const inner = unwrap(schema);
  return member(member(inner, "entries"), key) ?? member(inner, "value") ?? member(inner, "item");
}

/** The schema inside `optional()` and `nullable()`. */
function unwrap(schema: unknown): unknown {
  let at = schema;
  for (let inner = member(at, "wrapped"); inner !== undefined; inner = member(at, "wrapped"))
    at = inner;
  return at;
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && key in value
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
