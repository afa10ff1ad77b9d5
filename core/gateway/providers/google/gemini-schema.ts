import type { Json } from "../../../http/json.ts";

/** The members that Gemini takes beside a reference: https://github.com/anomalyco/opencode/issues/12295. */
const BESIDE: ReadonlySet<string> = new Set([
  "$ref",
  "$defs",
  "definitions",
  "description",
  "default",
]);

/** Returns a schema without what stands beside its references. */
export function geminiSchema(schema: Json): Json {
  const isReference = typeof schema["$ref"] === "string";
  const kept = Object.entries(schema).filter(([key]) => !isReference || BESIDE.has(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, within(value)]));
}

function within(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(within);
  return typeof value === "object" && value !== null ? geminiSchema(value as Json) : value;
}
