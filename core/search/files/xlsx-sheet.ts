import type { TextBudget } from "../../files/text-budget.ts";
import { withoutSoftHyphens } from "../read/soft-hyphens.ts";
import { shortNumber } from "./drawings.ts";
import { parseXml } from "./package-parts.ts";
import { type CellStyles, numberText } from "./xlsx-dates.ts";

/** Columns of a sheet that are read. */
const MAX_COLUMNS = 200;
/** Merged ranges of a sheet that are filled. */
const MAX_MERGED = 20_000;

/** The parts of a workbook that cells refer to. */
export interface Workbook {
  readonly shared: readonly string[];
  readonly styles: CellStyles;
  /** Whether days are counted from 1904. */
  readonly is1904: boolean;
  readonly budget: TextBudget;
}

/** The cells of a sheet. */
export interface SheetRows {
  readonly rows: readonly (readonly string[])[];
  /** Formulas whose result the program that wrote the file did not store. */
  readonly missing: number;
}

interface Cell {
  type: string;
  style: string;
  column: number;
  value: string;
  isFormula: boolean;
}

/** Reads the cells of a sheet (ECMA-376, part 1, section 18.3.1). */
export function* sheetRows(xml: string, workbook: Workbook): Generator<void, SheetRows, void> {
  const sheet: Sheet = { rows: [], numbers: new Map(), merged: [], last: 0, workbook };
  let cell: Cell = { type: "", style: "", column: 0, value: "", isFormula: false };
  let [isValue, isReading, missing] = [false, false, 0];
  yield* parseXml(xml, {
    open(name, { r = "", t = "", s = "", ref = "" }) {
      if (name === "row") addRow(sheet, r);
      else if (name === "c") {
        const column = columnOf(sheet, r);
        cell = { type: t, style: s, column, value: "", isFormula: false };
      } else if (name === "f") cell.isFormula = true;
      else if (name === "rPh") isReading = true;
      else if (name === "v" || name === "t") isValue = !isReading;
      else if (name === "mergeCell") addMerged(sheet, ref);
    },
    text(text) {
      if (isValue) cell.value += text;
    },
    close(name) {
      if (name === "v" || name === "t") isValue = false;
      else if (name === "rPh") isReading = false;
      if (name !== "c") return;
      if (cell.isFormula && cell.value === "" && cell.type !== "str") missing++;
      addCell(sheet, cell);
    },
  });
  fillMerged(sheet);
  return { rows: sheet.rows, missing };
}

interface Sheet {
  readonly rows: string[][];
  /** Places in `rows` by the numbers of rows: empty rows are not in the file. */
  readonly numbers: Map<number, number>;
  readonly merged: string[];
  /** The number of the last row. */
  last: number;
  readonly workbook: Workbook;
}

function addRow(sheet: Sheet, number: string): void {
  sheet.last = /^\d{1,7}$/u.test(number) ? Number(number) : sheet.last + 1;
  sheet.numbers.set(sheet.last, sheet.rows.length);
  sheet.rows.push([]);
}

/** Cells without a reference follow the one before. */
function columnOf({ rows }: Sheet, reference: string): number {
  return reference === "" ? (rows.at(-1)?.length ?? 0) : placeOf(reference).column;
}

function addMerged({ merged }: Sheet, reference: string): void {
  if (merged.length < MAX_MERGED) merged.push(reference);
}

function addCell({ rows, workbook }: Sheet, cell: Cell): void {
  const { column, value } = cell;
  const row = rows.at(-1);
  if (value === "" || column >= MAX_COLUMNS || row === undefined) return;
  // One cell far to the right makes a row of many.
  workbook.budget.take(Math.max(0, column - row.length));
  while (row.length < column) row.push("");
  row[column] = cellText(cell, workbook);
}

/** Writes the value of a merged range into each of its cells: a row then says all that a reader sees in it. */
function fillMerged({ rows, numbers, merged, workbook: { budget } }: Sheet): void {
  for (const reference of merged) {
    const [first = "", last = ""] = reference.split(":");
    const [from, to] = [placeOf(first), placeOf(last)];
    const value = rows[numbers.get(from.row) ?? -1]?.[from.column] ?? "";
    if (value === "") continue;
    const end = Math.min(to.row, from.row + rows.length);
    for (let number = from.row; number <= end; number++) {
      budget.take(1);
      const row = rows[numbers.get(number) ?? -1];
      if (row === undefined) continue;
      for (let at = from.column; at <= to.column && at < MAX_COLUMNS; at++) {
        budget.take(value.length + 1);
        while (row.length < at) row.push("");
        row[at] = value;
      }
    }
  }
}

function cellText({ type, style, value }: Cell, { shared, styles, is1904 }: Workbook): string {
  const isNumber = type === "" || type === "n";
  const kind = isNumber ? styles.kindOf(style) : null;
  if (kind !== null) return numberText(value, kind, is1904);
  if (isNumber) return shortNumber(value);
  if (type === "s") return shared[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "true" : "false";
  return withoutSoftHyphens(value);
}

/** Returns the row and the column that a reference names, e.g. 7 and 27 for `AB7`. */
function placeOf(reference: string): { readonly row: number; readonly column: number } {
  const [, letters = "A", digits = "0"] = /^\$?([A-Z]{1,3})\$?(\d{0,7})/u.exec(reference) ?? [];
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return { row: Number(digits), column: column - 1 };
}
