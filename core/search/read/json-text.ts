import type { TextBudget } from "../../files/text-budget.ts";
import { boundedJson, isObject } from "../../http/json.ts";

/**
 * Yields a JSON text as paragraphs, one for each member of its outer list or object, each value with its path, so that
 * searches find the meaning without the punctuation. Null for invalid JSON, or for more of it than is parsed.
 */
export function* jsonParagraphs(
  source: string,
  budget: TextBudget,
): Generator<void, string | null, void> {
  const value = boundedJson(source);
  yield;
  if (value === undefined) return null;
  const parts = Array.isArray(value) ? value : [value];
  return yield* paragraphs(parts, budget);
}

/** Does the same for one JSON value a line. */
export function* jsonLinesParagraphs(
  source: string,
  budget: TextBudget,
): Generator<void, string | null, void> {
  const values: unknown[] = [];
  for (const line of source.split("\n")) {
    if (line.trim() === "") continue;
    const value = boundedJson(line);
    if (value === undefined) return null;
    values.push(value);
    if (values.length % 500 === 0) yield;
  }
  return yield* paragraphs(values, budget);
}

function* paragraphs(
  values: readonly unknown[],
  budget: TextBudget,
): Generator<void, string, void> {
  const out: string[] = [];
  for (const value of values) {
    out.push(linesOf(value, "", budget).join("\n"));
    if (out.length % 200 === 0) yield;
  }
  return out.join("\n\n");
}

function linesOf(value: unknown, path: string, budget: TextBudget): string[] {
  if (Array.isArray(value)) {
    const plain = value.every((one) => typeof one !== "object" || one === null);
    if (plain) return [labelled(path, value.map(String).join(", "), budget)];
    return value.flatMap((one) => linesOf(one, path, budget));
  }
  if (isObject(value))
    return Object.entries(value).flatMap(([key, one]) =>
      linesOf(one, path === "" ? key : `${path}.${key}`, budget),
    );
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === "" || text === "null" ? [] : [labelled(path, text, budget)];
}

function labelled(path: string, text: string, budget: TextBudget): string {
  // Each value has its whole path before it.
  budget.take(path.length + text.length);
  return path === "" ? text : `${path}: ${text}`;
}
