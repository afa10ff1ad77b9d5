import { type Json, jsonObject, jsonObjects, jsonText, parsedObject } from "../../http/json.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import { withoutData } from "./embedded-data.ts";

const ESCAPE = "\u001B";
/** Colours that programs print. */
const COLOURS = new RegExp(String.raw`${ESCAPE}\[[\d;]*[A-Za-z]`, "gu");

/**
 * Returns a Jupyter notebook (nbformat 4 and 3) as Markdown: its texts, its code, and the texts that the code printed.
 * Pictures are left out. Null for another JSON text.
 */
export function* notebookText(
  source: string,
  budget: TextBudget,
): Generator<void, string | null, void> {
  const notebook = parsedObject(source);
  yield;
  if (
    notebook === null ||
    !(Array.isArray(notebook["cells"]) || Array.isArray(notebook["worksheets"]))
  )
    return null;
  const sheets = jsonObjects(notebook["worksheets"]);
  const cells = [
    ...jsonObjects(notebook["cells"]),
    ...sheets.flatMap(({ cells: all }) => jsonObjects(all)),
  ];
  const metadata = jsonObject(notebook["metadata"]);
  const language =
    jsonText(jsonObject(metadata["language_info"])["name"]) ||
    jsonText(jsonObject(metadata["kernelspec"])["language"]);
  const parts: string[] = [];
  for (const cell of cells) {
    const text = cellText(cell, language);
    budget.take(text.length);
    if (text.trim() !== "") parts.push(text.trim());
    if (parts.length % 100 === 99) yield;
  }
  return parts.join("\n\n");
}

function cellText(cell: Json, language: string): string {
  const source = withoutData(linesOf(cell["source"] ?? cell["input"])).trim();
  const type = jsonText(cell["cell_type"]);
  if (type === "heading") return `${"#".repeat(Number(cell["level"]) || 1)} ${source}`;
  if (type !== "code") return source;
  const printed = jsonObjects(cell["outputs"])
    .map(outputText)
    .filter((text) => text.trim() !== "");
  const code = source === "" ? [] : [fenced(source, jsonText(cell["language"]) || language)];
  return [...code, ...printed.map((text) => fenced(text.trim(), ""))].join("\n\n");
}

function outputText(output: Json): string {
  const data = jsonObject(output["data"] ?? output);
  const name = jsonText(output["ename"]);
  if (name !== "") return `${name}: ${jsonText(output["evalue"])}`.replaceAll(COLOURS, "");
  const text = linesOf(output["text"] ?? data["text/plain"]);
  return withoutData(text || linesOf(data["text/markdown"] ?? data["text/latex"])).replaceAll(
    COLOURS,
    "",
  );
}

/** Texts of a notebook are one string, or a list of lines with their ends. */
function linesOf(value: unknown): string {
  return Array.isArray(value) ? value.map((line) => jsonText(line)).join("") : jsonText(value);
}

function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/gu) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
