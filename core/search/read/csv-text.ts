import type { TextBudget } from "../../files/text-budget.ts";
import { csvRows } from "./csv.ts";
import { markdownTable } from "./markdown-table.ts";

/** Separators of cells, the more usual ones first. */
const SEPARATORS = [",", ";", "\t", "|"] as const;
/** Rows at the beginning by which a file is judged. */
const SAMPLE = 100;
/** Lines above a table that say what it is. */
const MAX_TITLES = 20;
/** Spreadsheet programs take the separator from such a first line and do not show it. */
const SEPARATOR_LINE = /^"?sep=(?<separator>[^\r\n])"?\r?\n?/iu;

/** Returns a CSV text as a Markdown table; lines above its header become paragraphs. */
export function* csvText(
  source: string,
  isTabbed: boolean,
  budget: TextBudget,
): Generator<void, string, void> {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source;
  const said = SEPARATOR_LINE.exec(text);
  const body = said === null ? text : text.slice(said[0].length);
  const separator = said?.groups?.["separator"] ?? (isTabbed ? "\t" : yield* separatorOf(body));
  const rows = (yield* csvRows(body, separator)).filter((row) => cellsOf(row) > 0);
  const titles = titleRows(rows);
  const above = rows.slice(0, titles).map((row) => {
    const line = row.filter((cell) => cell.trim() !== "").join(" ");
    budget.take(line.length);
    return line;
  });
  return [...above, markdownTable(rows.slice(titles), budget)]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Returns the separator with which most rows have the same number of cells; the wider rows where several do. */
function* separatorOf(text: string): Generator<void, string, void> {
  let best = { separator: ",", rows: 0, width: 1 };
  for (const separator of SEPARATORS) {
    const rows = (yield* csvRows(text, separator, SAMPLE)).filter((row) => cellsOf(row) > 0);
    const width = usualWidth(rows);
    const alike = width < 2 ? 0 : rows.filter((row) => row.length === width).length;
    if (alike > best.rows || (alike === best.rows && width > best.width))
      best = { separator, rows: alike, width };
  }
  return best.separator;
}

/** The number of cells that most rows have; of several the largest. */
function usualWidth(rows: readonly (readonly string[])[]): number {
  const counts = new Map<number, number>();
  for (const { length } of rows.slice(0, SAMPLE)) counts.set(length, (counts.get(length) ?? 0) + 1);
  const [first] = [...counts].toSorted((a, b) => b[1] - a[1] || b[0] - a[0]);
  return first?.[0] ?? 0;
}

/** Counts the rows above the header: they fill less than half of the columns, or one cell. */
function titleRows(rows: readonly (readonly string[])[]): number {
  const width = usualWidth(rows);
  if (width < 2) return 0;
  const header = rows.findIndex((row) => cellsOf(row) > 1 && cellsOf(row) * 2 >= width);
  return header > MAX_TITLES || header < 0 ? 0 : header;
}

function cellsOf(row: readonly string[]): number {
  return row.reduce((count, cell) => count + (cell.trim() === "" ? 0 : 1), 0);
}
