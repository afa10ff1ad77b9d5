import * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import { didYouMean } from "./nearest.ts";
import { resolveEnv, type ReadEnv } from "./resolve-env.ts";
import type { Config } from "./config.ts";
import { configSchema } from "./schema.ts";

/**
 * Checks a configuration: JSON text, or the value itself. Errors are `ApiError` 400 whose message is one line
 * that names the key, and the key that was probably meant.
 */
export function parseConfig(input: unknown, env: ReadEnv): Config {
  const value = typeof input === "string" ? fromJson(input) : input;
  const result = v.safeParse(configSchema, resolveEnv(value, env));
  if (result.success) return result.output;
  throw new ApiError("invalid_request", { message: describeIssue(result.issues[0]) });
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "";
    throw new ApiError("invalid_request", {
      message: `The configuration is not valid JSON: ${reason}`,
      cause,
    });
  }
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
  const keys = (issue.path ?? []).map((item) => String(item.key));
  const path = keys.join(".");
  if (issue.expected !== "never") return `Configuration key "${path}": ${issue.message}`;
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
