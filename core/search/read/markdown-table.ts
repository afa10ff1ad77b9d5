import type { TextBudget } from "../../files/text-budget.ts";

/** Makes a Markdown table of rows, the first of which names the columns; empty for no rows. */
export function markdownTable(rows: readonly (readonly string[])[], budget: TextBudget): string {
  const filled = rows.filter((row) => row.some((cell) => cell.trim() !== ""));
  const [header] = filled;
  if (header === undefined) return "";
  const width = filled.reduce((most, row) => Math.max(most, row.length), 0);
  // Each row is as wide as the widest, and a text may be the value of many cells.
  const line = (row: readonly string[]): string => {
    budget.take(row.reduce((sum, cell) => sum + cell.length, 3 * width));
    return `| ${Array.from({ length: width }, (_, n) => cellText(row[n] ?? "")).join(" | ")} |`;
  };
  const delimiter = `|${" --- |".repeat(width)}`;
  return [line(header), delimiter, ...filled.slice(1).map(line)].join("\n");
}

function cellText(cell: string): string {
  return cell
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll("|", String.raw`\|`);
}
