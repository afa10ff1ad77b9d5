/** A table that is being read. */
export interface Table {
  /** Begins a row; `header` when it is in a `thead`. */
  row(header: boolean): void;
  /** Adds a cell's text to the row. */
  cell(text: string, kind: CellKind): void;
  /** Returns the lines of the table as GitHub's Markdown has it; empty for a table without cells. */
  lines(): string[];
}

/** The properties of a cell beside its text. */
export interface CellKind {
  readonly header: boolean;
  /** How many columns and rows it takes. */
  readonly columns: number;
  readonly rows: number;
  readonly align: Alignment | null;
}

/** The alignment of a column's text. */
export type Alignment = "left" | "center" | "right";

/** The rule below the header, as GitHub's Markdown has it. */
const rules: Readonly<Record<Alignment, string>> = {
  left: ":---",
  center: ":---:",
  right: "---:",
};

interface Row {
  readonly cells: string[];
  readonly aligns: (Alignment | null)[];
  header: boolean;
}

/** Columns that spans may fill: a span of a thousand is not a table for people. */
const SPAN_LIMIT = 50;

/** Makes a table. Cells that span rows or columns are followed by empty ones, so that columns stay in line. */
export function tableCollector(): Table {
  const rows: Row[] = [];
  /** For each column, in how many rows to come it is taken by a cell from above. */
  const taken: number[] = [];
  const current = (): Row => {
    const row = rows.at(-1);
    if (row !== undefined) return row;
    const first: Row = { cells: [], aligns: [], header: false };
    rows.push(first);
    return first;
  };
  const skipTaken = (cells: string[]): void => {
    for (let column = cells.length; (taken[column] ?? 0) > 0; column++) {
      taken[column] = (taken[column] ?? 0) - 1;
      cells.push("");
    }
  };
  return {
    row(header) {
      const last = rows.at(-1);
      if (last !== undefined) skipTaken(last.cells);
      rows.push({ cells: [], aligns: [], header });
    },
    cell(text, { header, columns, rows: height, align }) {
      const row = current();
      skipTaken(row.cells);
      row.aligns[row.cells.length] = align;
      if (row.cells.length === 0 && header) row.header = true;
      if (!header) row.header = false;
      const width = row.cells.length < SPAN_LIMIT ? Math.min(columns, SPAN_LIMIT) : 1;
      for (let i = 0; i < width; i++) {
        if (height > 1 && row.cells.length < SPAN_LIMIT)
          taken[row.cells.length] = Math.min(height - 1, 1000);
        row.cells.push(i === 0 ? text : "");
      }
    },
    lines() {
      const filled = rows.filter(({ cells }) => cells.some((cell) => cell !== ""));
      const [first] = filled;
      if (first === undefined) return [];
      let width = 0;
      for (const { cells } of filled) width = Math.max(width, cells.length);
      const pad = (cells: readonly string[]): string[] => [
        ...cells,
        ...Array.from({ length: width - cells.length }, () => ""),
      ];
      // The format needs a header: the first row is it, marked as one or not.
      return [
        line(pad(first.cells)),
        line(Array.from({ length: width }, (_, column) => ruleOf(filled, column))),
        ...filled.slice(1).map(({ cells }) => line(cells)),
      ];
    },
  };
}

/** Returns the alignment of the header's cell, else of the one below it. */
function ruleOf(rows: readonly Row[], column: number): string {
  for (const { aligns } of rows.slice(0, 2)) {
    const align = aligns[column] ?? null;
    if (align !== null) return rules[align];
  }
  return "---";
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
