import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import { markdownTable } from "../read/markdown-table.ts";
import { openPackage, parseXml, relations } from "./package-parts.ts";
import { refused } from "../read/refused.ts";
import { cellStyles, type CellStyles, dateText } from "./xlsx-dates.ts";

/** Columns of a sheet that are read. */
const MAX_COLUMNS = 200;

/**
 * Returns the cells of an XLSX workbook: each sheet a table below its name. Dates and times are ISO 8601; other values are
 * as they were stored.
 */
export function* xlsxText(
  bytes: Uint8Array,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const parts = openPackage(bytes);
  const main = "xl/workbook.xml";
  const targets = yield* relations(parts, main);
  const sheets: { readonly name: string; readonly path: string }[] = [];
  let is1904 = false;
  yield* parseXml(parts.text(main), {
    open(tag, attributes) {
      if (tag === "workbookPr") is1904 = /^(?:1|true)$/u.test(attributes["date1904"] ?? "");
      if (tag !== "sheet") return;
      const { name = "Sheet" } = attributes;
      sheets.push({ name, path: targets.get(attributes["r:id"] ?? "") ?? "" });
    },
  });
  if (sheets.length === 0) throw refused("the file holds no sheets");
  const shared = yield* sharedStrings(parts.text("xl/sharedStrings.xml"), budget);
  const styles = yield* cellStyles(parts.text("xl/styles.xml"));
  const out: string[] = [];
  const texts = parts.texts(sheets.map(({ path }) => path));
  for (const [n, { name }] of sheets.entries()) {
    const rows = yield* sheetRows(texts[n]?.() ?? "", { shared, styles, is1904, budget });
    const table = markdownTable(rows, budget);
    if (table !== "") out.push(`## ${name}\n\n${table}`);
    yield;
  }
  return { text: out.join("\n\n") };
}

function* sharedStrings(xml: string, budget: TextBudget): Generator<void, string[], void> {
  const out: string[] = [];
  let isText = false;
  yield* parseXml(xml, {
    open(name) {
      if (name === "si") out.push("");
      else if (name === "t") isText = true;
      // The phonetic reading of East Asian words does not belong to the text.
      else if (name === "rPh") isText = false;
    },
    text(text) {
      if (!isText) return;
      budget.take(text.length);
      out[out.length - 1] += text;
    },
    close(name) {
      if (name === "t") isText = false;
    },
  });
  return out;
}

/** The parts of a workbook that cells refer to. */
interface Workbook {
  readonly shared: readonly string[];
  readonly styles: CellStyles;
  /** Whether days are counted from 1904. */
  readonly is1904: boolean;
  readonly budget: TextBudget;
}

function* sheetRows(xml: string, workbook: Workbook): Generator<void, string[][], void> {
  const rows: string[][] = [];
  let type = "";
  let style = "";
  let column = 0;
  let value = "";
  let isValue = false;
  yield* parseXml(xml, {
    open(name, { r = "", t = "", s = "" }) {
      if (name === "row") rows.push([]);
      else if (name === "c") {
        [type, style, value] = [t, s, ""];
        column = r === "" ? (rows.at(-1)?.length ?? 0) : columnOf(r);
      } else if (name === "v" || name === "t") isValue = true;
    },
    text(text) {
      if (isValue) value += text;
    },
    close(name) {
      if (name === "v" || name === "t") isValue = false;
      const row = rows.at(-1);
      if (name !== "c" || value === "" || column >= MAX_COLUMNS || row === undefined) return;
      // One cell far to the right makes a row of many.
      workbook.budget.take(Math.max(0, column - row.length));
      while (row.length < column) row.push("");
      row[column] = cellText(type, style, value, workbook);
    },
  });
  return rows;
}

function cellText(
  type: string,
  style: string,
  value: string,
  { shared, styles, is1904 }: Workbook,
): string {
  const kind = type === "" || type === "n" ? styles.kindOf(style) : null;
  if (kind !== null) return dateText(value, kind, is1904);
  if (type === "s") return shared[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "true" : "false";
  return value;
}

/** Returns the number of a column from a reference, e.g. 27 of `AB7`. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of /^[A-Z]{1,3}/.exec(reference)?.[0] ?? "A")
    column = column * 26 + letter.charCodeAt(0) - 64;
  return column - 1;
}
