import type { TextBudget } from "../../files/text-budget.ts";
import { boundedJson, isObject } from "../../http/json.ts";
import { isData, withoutData } from "./embedded-data.ts";
import type { FileWarning } from "./file-warning.ts";

/**
 * Yields a JSON text as paragraphs, one for each member of its outer list or object, each value with its path, so that
 * searches find the meaning without the punctuation. Null for invalid JSON, or for more of it than is parsed.
 */
export function* jsonParagraphs(
  source: string,
  budget: TextBudget,
): Generator<void, string | null, void> {
  const value = exactJson(source);
  yield;
  if (value === undefined) return null;
  const parts = Array.isArray(value) ? value : [value];
  return yield* paragraphs(parts, budget);
}

/**
 * Does the same for one JSON value a line. A line that is not JSON stays as it is, with a warning. Null when no line is
 * JSON.
 */
export function* jsonLinesParagraphs(
  source: string,
  budget: TextBudget,
): Generator<void, { text: string; warnings: FileWarning[] } | null, void> {
  const values: unknown[] = [];
  const bad: number[] = [];
  for (const [n, line] of source.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = exactJson(line);
    if (value === undefined) bad.push(n + 1);
    values.push(value === undefined ? line.trim() : value);
    if (values.length % 500 === 0) yield;
  }
  if (bad.length === values.length) return null;
  const text = yield* paragraphs(values, budget);
  return { text, warnings: bad.length === 0 ? [] : [badLines(bad)] };
}

/** Numbers of lines that a warning names. */
const NAMED = 10;

function badLines(lines: readonly number[]): FileWarning {
  const named = lines.slice(0, NAMED).join(", ");
  const more = lines.length > NAMED ? ` and ${lines.length - NAMED} more` : "";
  return {
    code: "line_not_json",
    message: `${lines.length === 1 ? "line" : "lines"} ${named}${more}: not JSON, indexed as text`,
  };
}

/** Numbers that parsing may change: of many digits, with an exponent, or with a zero behind the comma at the end. */
const INEXACT = /\d[\d.]{14}|\d[eE]|\.\d*0(?!\d)/u;
/** Texts, which stay as they are, and numbers. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gsu;

/** The value of a JSON text in which numbers that parsing would change are texts; undefined for malformed JSON. */
function exactJson(source: string): unknown {
  const value = boundedJson(source);
  if (value === undefined || !INEXACT.test(source)) return value;
  return boundedJson(
    source.replaceAll(TEXT_OR_NUMBER, (found) =>
      found.startsWith('"') || String(Number(found)) === found ? found : `"${found}"`,
    ),
  );
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
  return text === "" || text === "null" || isData(text) ? [] : [labelled(path, text, budget)];
}

function labelled(path: string, text: string, budget: TextBudget): string {
  const shown = withoutData(text);
  // Each value has its whole path before it.
  budget.take(path.length + shown.length);
  return path === "" ? shown : `${path}: ${shown}`;
}
